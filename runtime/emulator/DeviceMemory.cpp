//===- DeviceMemory.cpp - What an emulated device has allocated -------------------------------===//

#include "runtime/emulator/DeviceMemory.h"

#include <algorithm>

namespace halfstep::runtime {

/// Calls `f(word, mask)` for each word of bits that has some of `bytes` from `begin` on, until it
/// returns false.
template <typename F> static void forEachWord(uint64_t begin, uint64_t bytes, F f) {
  uint64_t end = begin + bytes;
  while (begin < end) {
    uint64_t first = begin % 64, count = std::min<uint64_t>(64 - first, end - begin);
    uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << first;
    if (!f(begin / 64, mask))
      return;
    begin += count;
  }
}

void WrittenMap::set(uint64_t begin, uint64_t bytes) {
  forEachWord(begin, bytes, [&](uint64_t word, uint64_t mask) {
    words[word] |= mask;
    return true;
  });
}

void WrittenMap::unset(uint64_t begin, uint64_t bytes) {
  forEachWord(begin, bytes, [&](uint64_t word, uint64_t mask) {
    words[word] &= ~mask;
    return true;
  });
}

uint64_t WrittenMap::firstUnwritten(uint64_t begin, uint64_t bytes) const {
  uint64_t result = begin + bytes;
  forEachWord(begin, bytes, [&](uint64_t word, uint64_t mask) {
    uint64_t missing = mask & ~words[word];
    if (missing)
      result = word * 64 + uint64_t(__builtin_ctzll(missing));
    return !missing;
  });
  return result;
}

void WrittenMap::copy(uint64_t begin, const WrittenMap &from, uint64_t fromBegin, uint64_t bytes) {
  if (from.firstUnwritten(fromBegin, bytes) == fromBegin + bytes)
    return set(begin, bytes);
  for (uint64_t i = 0; i < bytes; ++i) {
    uint64_t bit = uint64_t(1) << (begin + i) % 64;
    bool isWritten = from.words[(fromBegin + i) / 64] >> (fromBegin + i) % 64 & 1;
    uint64_t &word = words[(begin + i) / 64];
    word = isWritten ? word | bit : word & ~bit;
  }
}

void *DeviceMemory::allocate(uint64_t bytes) {
  auto allocation = std::make_unique<Allocation>(std::max<uint64_t>(bytes, 1));
  char *base = allocation->base();
  total += allocation->bytes;
  // What was freed at the same place is forgotten.
  auto behind = released.lower_bound(uintptr_t(base) + allocation->bytes);
  while (behind != released.begin()) {
    auto before = std::prev(behind);
    if (before->first + before->second <= uintptr_t(base))
      break;
    behind = released.erase(before);
  }
  allocations[uintptr_t(base)] = std::move(allocation);
  return base;
}

bool DeviceMemory::release(void *address) {
  auto found = allocations.find(uintptr_t(address));
  if (found == allocations.end())
    return false;
  released[uintptr_t(address)] = found->second->bytes;
  total -= found->second->bytes;
  allocations.erase(found);
  return true;
}

uint64_t DeviceMemory::sizeOf(const void *address) const {
  auto found = allocations.find(uintptr_t(address));
  return found == allocations.end() ? 0 : found->second->bytes;
}

DeviceMemory::Allocation *DeviceMemory::find(const void *address) const {
  auto above = allocations.upper_bound(uintptr_t(address));
  if (above == allocations.begin())
    return nullptr;
  Allocation *below = std::prev(above)->second.get();
  return uintptr_t(address) - uintptr_t(below->base()) < below->bytes ? below : nullptr;
}

bool DeviceMemory::contains(const void *address, uint64_t bytes) const {
  const Allocation *allocation = find(address);
  return allocation &&
         bytes <= allocation->bytes - (uintptr_t(address) - uintptr_t(allocation->base()));
}

DeviceMemory::Page DeviceMemory::page(uintptr_t address) {
  auto above = allocations.upper_bound(address + pageBytes - 1);
  if (above == allocations.begin())
    return {0, 0, nullptr};
  Allocation &below = *std::prev(above)->second;
  uintptr_t begin = uintptr_t(below.base()), end = begin + below.bytes;
  if (end <= address)
    return {0, 0, nullptr};
  return {uint32_t(std::max(begin, address) - address),
          uint32_t(std::min(end, address + pageBytes) - address),
          below.written.at(address - uintptr_t(below.memory.data()))};
}

std::string DeviceMemory::checkAccess(const void *address, uint64_t bytes, bool isStore) {
  Allocation *allocation = find(address);
  if (!allocation) {
    auto above = released.upper_bound(uintptr_t(address));
    if (above != released.begin() &&
        uintptr_t(address) - std::prev(above)->first < std::prev(above)->second)
      return "is to memory that was freed";
    return "is to no device memory";
  }
  if (!contains(address, bytes))
    return "reaches beyond its allocation of " + std::to_string(allocation->bytes) + " bytes";
  uint64_t offset = allocation->offsetOf(address);
  if (isStore) {
    allocation->written.set(offset, bytes);
    return "";
  }
  uint64_t missing = allocation->written.firstUnwritten(offset, bytes);
  if (missing == offset + bytes)
    return "";
  return "reads byte " + std::to_string(missing - alignment) +
         " of its allocation, which was never written";
}

void DeviceMemory::markWritten(const void *address, uint64_t bytes) {
  checkAccess(address, bytes, /*isStore=*/true);
}

void DeviceMemory::markUnwritten(const void *address, uint64_t bytes) {
  Allocation *allocation = find(address);
  allocation->written.unset(allocation->offsetOf(address), bytes);
}

void DeviceMemory::markCopied(const void *target, const void *source, uint64_t bytes) {
  Allocation *to = find(target), *from = find(source);
  to->written.copy(to->offsetOf(target), from->written, from->offsetOf(source), bytes);
}

} // namespace halfstep::runtime

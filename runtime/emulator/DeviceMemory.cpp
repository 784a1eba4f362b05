//===- DeviceMemory.cpp - what an emulated device has allocated -------------------------------===//

#include "runtime/emulator/DeviceMemory.h"

#include <algorithm>

namespace halfstep::runtime {

std::optional<Toucher> TouchMap::touch(uintptr_t address, uint32_t bytes, Toucher by,
                                       bool isStore) {
  for (uintptr_t at = address; at < address + bytes; ++at) {
    std::unique_ptr<Marks[]> &page = pages[at / pageBytes];
    if (!page)
      page = std::make_unique<Marks[]>(pageBytes);
    Marks &marks = page[at % pageBytes];
    if (marks.isWritten && !isOrdered(marks.writer, by))
      return marks.writer;
    bool isFollowed = marks.isRead && isOrdered(marks.reader, by);
    if (isStore) {
      bool isAlone = marks.reader.thread == by.thread;
      if (marks.isRead &&
          (!isFollowed || marks.hasForeignReaders || (isAlone && marks.hasOtherReaders)))
        return marks.reader;
      marks.writer = by;
      marks.isWritten = true;
      continue;
    }
    if (marks.isRead && marks.reader.thread != by.thread) {
      marks.hasForeignReaders |= marks.reader.block != by.block;
      marks.hasOtherReaders = !isFollowed;
    }
    marks.reader = by;
    marks.isRead = true;
  }
  return std::nullopt;
}

void *DeviceMemory::allocate(uint64_t bytes) {
  auto allocation = std::make_unique<Allocation>(std::max<uint64_t>(bytes, 1));
  char *base = allocation->memory.data();
  total += bytes;
  released.erase(uintptr_t(base));
  allocations[uintptr_t(base)] = std::move(allocation);
  return base;
}

bool DeviceMemory::release(void *address) {
  auto found = allocations.find(uintptr_t(address));
  if (found == allocations.end())
    return false;
  released[uintptr_t(address)] = found->second->memory.bytes();
  total -= found->second->memory.bytes();
  allocations.erase(found);
  return true;
}

DeviceMemory::Allocation *DeviceMemory::find(const void *address) {
  auto above = allocations.upper_bound(uintptr_t(address));
  if (above == allocations.begin())
    return nullptr;
  Allocation *below = std::prev(above)->second.get();
  uint64_t offset = uintptr_t(address) - uintptr_t(below->memory.data());
  return offset < below->memory.bytes() ? below : nullptr;
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
  uint64_t offset = uintptr_t(address) - uintptr_t(allocation->memory.data());
  if (bytes > allocation->memory.bytes() - offset)
    return "reaches beyond its allocation of " + std::to_string(allocation->memory.bytes()) +
           " bytes";
  auto begin = allocation->isWritten.begin() + ptrdiff_t(offset), end = begin + ptrdiff_t(bytes);
  if (isStore)
    std::fill(begin, end, true);
  else if (auto missing = std::find(begin, end, false); missing != end)
    return "reads byte " + std::to_string(offset + uint64_t(missing - begin)) +
           " of its allocation, which was never written";
  return "";
}

void DeviceMemory::markWritten(const void *address, uint64_t bytes) {
  checkAccess(address, bytes, /*isStore=*/true);
}

} // namespace halfstep::runtime

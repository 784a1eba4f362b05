//===- EmulatedDevice.cpp - Memory and work of an emulated device -----------------------------===//

#include "runtime/emulator/EmulatedDevice.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cstring>

namespace halfstep::runtime {

/// What memory holds that nobody has given a value: a NaN in each type of float.
static constexpr unsigned char poison = 0xFF;

void *PinnedMemory::allocate(uint64_t bytes) {
  auto allocation = std::make_unique<Allocation>(bytes);
  char *base = allocation->memory.data();
  std::memset(base, poison, bytes);
  allocations[uintptr_t(base)] = std::move(allocation);
  return base;
}

bool PinnedMemory::release(void *address) { return allocations.erase(uintptr_t(address)) != 0; }

PinnedMemory::Allocation *PinnedMemory::startingAt(const void *address) {
  auto found = allocations.find(uintptr_t(address));
  return found == allocations.end() ? nullptr : found->second.get();
}

PinnedMemory::Allocation *PinnedMemory::find(const void *address, uint64_t bytes) {
  auto above = allocations.upper_bound(uintptr_t(address));
  if (above == allocations.begin())
    return nullptr;
  Allocation *below = std::prev(above)->second.get();
  uint64_t offset = uintptr_t(address) - uintptr_t(below->memory.data());
  bool isInside = offset < below->memory.bytes() && bytes <= below->memory.bytes() - offset;
  return isInside ? below : nullptr;
}

/// FNV-1a, eight bytes at a time: to see whether memory changes.
static uint64_t checksum(const void *address, uint64_t bytes) {
  constexpr uint64_t prime = 0x100000001b3;
  uint64_t sum = 0xcbf29ce484222325;
  const char *at = static_cast<const char *>(address);
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    sum = (sum ^ word) * prime;
  }
  for (; bytes > 0; ++at, --bytes)
    sum = (sum ^ uint64_t(static_cast<unsigned char>(*at))) * prime;
  return sum;
}

static bool isPoison(const void *address, uint64_t bytes) {
  const unsigned char *begin = static_cast<const unsigned char *>(address);
  return std::all_of(begin, begin + bytes, [](unsigned char byte) { return byte == poison; });
}

void EmulatedDevice::read(const std::string &what, DeviceRange range, const Moment &moment) {
  if (std::string problem = memory.checkAccess(range.address, range.bytes, /*isStore=*/false);
      !problem.empty())
    throw Error(what, "its load of " + std::to_string(range.bytes) + " bytes " + problem);
  history.note(uintptr_t(range.address), uintptr_t(range.address) + range.bytes, /*isWrite=*/false,
               what, moment);
}

void EmulatedDevice::write(const std::string &what, DeviceRange range, const Moment &moment) {
  if (std::string problem = memory.checkAccess(range.address, range.bytes, /*isStore=*/true);
      !problem.empty())
    throw Error(what, "its store of " + std::to_string(range.bytes) + " bytes " + problem);
  history.note(uintptr_t(range.address), uintptr_t(range.address) + range.bytes, /*isWrite=*/true,
               what, moment);
}

void EmulatedDevice::spoil(const std::string &what, DeviceRange range, const Moment &moment) {
  write(what, range, moment);
  std::memset(const_cast<void *>(range.address), poison, range.bytes);
  memory.markUnwritten(range.address, range.bytes);
}

// From pageable memory the driver has read all when the call returns.
EmulatedDevice::Work EmulatedDevice::copyToDevice(void *target, const void *source,
                                                  uint64_t bytes) {
  bool wasPinned = pinned.find(source, bytes);
  return [=]() -> Streams::Operation {
    const std::string what = "copy to the device";
    PinnedMemory::Allocation *allocation = pinned.find(source, bytes);
    if (wasPinned && !allocation)
      throw Error(what, "its source was freed");
    if (!allocation) {
      const char *begin = static_cast<const char *>(source);
      return [=, staged = std::vector<char>(begin, begin + bytes)](const Moment &moment) {
        write(what, {target, bytes}, moment);
        std::memcpy(target, staged.data(), bytes);
      };
    }
    uint64_t sum = checksum(source, bytes), copies = allocation->copies;
    ++allocation->reads;
    return [=](const Moment &moment) {
      --allocation->reads;
      if (allocation->copies == copies && checksum(source, bytes) != sum)
        throw Error(what, "the host changed its source before it was copied");
      history.note(uintptr_t(source), uintptr_t(source) + bytes, /*isWrite=*/false, what, moment);
      write(what, {target, bytes}, moment);
      std::memcpy(target, source, bytes);
    };
  };
}

EmulatedDevice::Work EmulatedDevice::copyToHost(void *target, const void *source, uint64_t bytes) {
  bool wasPinned = pinned.find(target, bytes);
  return [=]() -> Streams::Operation {
    const std::string what = "copy to the host";
    PinnedMemory::Allocation *allocation = pinned.find(target, bytes);
    if (wasPinned && !allocation)
      throw Error(what, "its target was freed");
    // What an earlier copy will still read has to stay.
    bool isPoisoned = allocation && allocation->reads == 0;
    if (isPoisoned)
      std::memset(target, poison, bytes);
    uint64_t copies = allocation ? allocation->copies : 0;
    return [=](const Moment &moment) {
      if (isPoisoned && allocation->copies == copies && !isPoison(target, bytes))
        throw Error(what, "the host wrote to its target before the copy did");
      history.note(uintptr_t(target), uintptr_t(target) + bytes, /*isWrite=*/true, what, moment);
      read(what, {source, bytes}, moment);
      std::memcpy(target, source, bytes);
      if (allocation)
        ++allocation->copies;
    };
  };
}

// What was never written may be copied, and still was never written.
EmulatedDevice::Work EmulatedDevice::copy(void *target, const void *source, uint64_t bytes) {
  return [=]() -> Streams::Operation {
    return [=](const Moment &moment) {
      const std::string what = "copy on the device";
      auto begin = uintptr_t(source), to = uintptr_t(target);
      if (begin < to + bytes && to < begin + bytes)
        throw Error(what, "its source and target overlap");
      if (!memory.contains(source, bytes) || !memory.contains(target, bytes))
        throw Error(what, "its source or target was freed");
      history.note(begin, begin + bytes, /*isWrite=*/false, what, moment);
      history.note(to, to + bytes, /*isWrite=*/true, what, moment);
      traffic.readBytes += bytes;
      traffic.writtenBytes += bytes;
      memory.markCopied(target, source, bytes);
      std::memcpy(target, source, bytes);
    };
  };
}

EmulatedDevice::Work EmulatedDevice::fill(void *target, unsigned char value, uint64_t bytes) {
  return [=]() -> Streams::Operation {
    return [=](const Moment &moment) {
      write("fill", {target, bytes}, moment);
      traffic.writtenBytes += bytes;
      std::memset(target, value, bytes);
    };
  };
}

EmulatedDevice::Work EmulatedDevice::launch(const hs_emulated_function &function,
                                            std::vector<void *> parameters, uint32_t blocks,
                                            uint32_t threads, uint64_t dynamicSharedBytes) {
  return [=, &function, parameters = std::move(parameters)]() -> Streams::Operation {
    return [=, &function](const Moment &moment) {
      grid.run(function, parameters, blocks, threads, dynamicSharedBytes);
      noteTouched(describe(function), moment);
    };
  };
}

void EmulatedDevice::noteTouched(const std::string &what, const Moment &moment) {
  grid.touched().forEachRange([&](uintptr_t begin, uintptr_t end, bool isRead, bool isWritten) {
    traffic.readBytes += isRead ? end - begin : 0;
    traffic.writtenBytes += isWritten ? end - begin : 0;
    history.note(begin, end, isWritten, what, moment);
  });
}

bool EmulatedDevice::release(void *address) {
  uint64_t bytes = memory.sizeOf(address);
  if (bytes == 0)
    return false;
  streams.synchroniseAll();
  history.forget(uintptr_t(address), uintptr_t(address) + bytes);
  return memory.release(address);
}

bool EmulatedDevice::releasePinned(void *address) {
  PinnedMemory::Allocation *allocation = pinned.startingAt(address);
  if (!allocation)
    return false;
  streams.synchroniseAll();
  history.forget(uintptr_t(address), uintptr_t(address) + allocation->memory.bytes());
  return pinned.release(address);
}

} // namespace halfstep::runtime

//===- EmulatedMemory.cpp - The emulated driver: memory and copies ----------------------------===//

#include "runtime/emulator/Emulation.h"

namespace halfstep::runtime {

using namespace cuda;
using Needs = Emulation::Needs;

namespace {

void *pointer(Address address) { return reinterpret_cast<void *>(address); }

Result getMemoryInfo(size_t *free, size_t *total) {
  return emulation().enter(Needs::Context, [&] {
    if (!free || !total)
      return errorInvalidValue;
    uint64_t used = emulation().device->memory.allocatedBytes();
    *total = emulation().totalBytes;
    *free = *total - std::min<uint64_t>(used, *total);
    return success;
  });
}

Result allocate(Address *address, size_t bytes) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    if (!address || bytes == 0)
      return errorInvalidValue;
    if (Result result = emulation().refuseWhileCapturing())
      return result;
    uint64_t used = emulation().device->memory.allocatedBytes();
    if (bytes > emulation().totalBytes || used > emulation().totalBytes - bytes)
      return errorOutOfMemory;
    try {
      *address = Address(emulation().device->memory.allocate(bytes));
    } catch (const Error &) {
      return errorOutOfMemory; // of the host
    }
    return success;
  });
}

Result release(Address address) {
  return emulation().enterToFree([&]() -> Result {
    if (Result result = emulation().refuseWhileCapturing())
      return result;
    if (address == 0)
      return success;
    return emulation().device->release(pointer(address)) ? success : errorInvalidValue;
  });
}

Result allocateHost(void **address, size_t bytes, unsigned flags) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    constexpr unsigned known = 7; // portable, mapped, write-combined
    if (!address || bytes == 0 || (flags & ~known))
      return errorInvalidValue;
    if (Result result = emulation().refuseWhileCapturing())
      return result;
    try {
      *address = emulation().device->pinned.allocate(bytes);
    } catch (const Error &) {
      return errorOutOfMemory;
    }
    return success;
  });
}

Result releaseHost(void *address) {
  return emulation().enterToFree([&]() -> Result {
    if (Result result = emulation().refuseWhileCapturing())
      return result;
    return emulation().device->releasePinned(address) ? success : errorInvalidValue;
  });
}

/// Whether the bytes can be memory of the host.
bool isHost(const void *address, size_t bytes) {
  EmulatedDevice &device = *emulation().device;
  bool isPinned = device.pinned.find(address, 1);
  return address && !device.memory.contains(address, 1) &&
         (!isPinned || device.pinned.find(address, bytes));
}

/// What a copy from or to pageable memory returns in a stream that is being captured.
Result checkPageable(Emulation::StreamState &stream, bool isPinned) {
  return stream.capture && !isPinned ? Emulation::invalidate(*stream.capture) : success;
}

Result copyToDevice(Address target, const void *source, size_t bytes, Stream stream) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    EmulatedDevice &device = *emulation().device;
    Emulation::StreamState *state = emulation().stream(stream);
    if (!state)
      return errorInvalidHandle;
    if (bytes == 0)
      return success;
    if (!device.memory.contains(pointer(target), bytes) || !isHost(source, bytes))
      return errorInvalidValue;
    if (Result result = checkPageable(*state, device.pinned.find(source, bytes)))
      return result;
    return emulation().submit(stream, device.copyToDevice(pointer(target), source, bytes));
  });
}

// A copy to pageable memory is done when the call returns.
Result copyToHost(void *target, Address source, size_t bytes, Stream stream) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    EmulatedDevice &device = *emulation().device;
    Emulation::StreamState *state = emulation().stream(stream);
    if (!state)
      return errorInvalidHandle;
    if (bytes == 0)
      return success;
    if (!device.memory.contains(pointer(source), bytes) || !isHost(target, bytes))
      return errorInvalidValue;
    bool isPinned = device.pinned.find(target, bytes);
    if (Result result = checkPageable(*state, isPinned))
      return result;
    Result result = emulation().submit(stream, device.copyToHost(target, pointer(source), bytes));
    if (result == success && !isPinned)
      device.streams.synchronise(device.streams.last(state->index));
    return result;
  });
}

Result copyOnDevice(Address target, Address source, size_t bytes, Stream stream) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    EmulatedDevice &device = *emulation().device;
    if (bytes == 0)
      return emulation().stream(stream) ? success : errorInvalidHandle;
    if (!device.memory.contains(pointer(target), bytes) ||
        !device.memory.contains(pointer(source), bytes))
      return errorInvalidValue;
    return emulation().submit(stream, device.copy(pointer(target), pointer(source), bytes));
  });
}

Result fill(Address target, unsigned char value, size_t bytes, Stream stream) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    EmulatedDevice &device = *emulation().device;
    if (bytes == 0)
      return emulation().stream(stream) ? success : errorInvalidHandle;
    if (!device.memory.contains(pointer(target), bytes))
      return errorInvalidValue;
    return emulation().submit(stream, device.fill(pointer(target), value, bytes));
  });
}

} // namespace

void setMemoryFunctions(Driver &driver) {
  driver.cuMemGetInfo = getMemoryInfo;
  driver.cuMemAlloc = allocate;
  driver.cuMemFree = release;
  driver.cuMemHostAlloc = allocateHost;
  driver.cuMemFreeHost = releaseHost;
  driver.cuMemcpyHtoDAsync = copyToDevice;
  driver.cuMemcpyDtoHAsync = copyToHost;
  driver.cuMemcpyDtoDAsync = copyOnDevice;
  driver.cuMemsetD8Async = fill;
}

} // namespace halfstep::runtime

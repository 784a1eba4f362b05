//===- Context.cpp - A device and what lives on it --------------------------------------------===//

#include "runtime/cuda/Context.h"

#include "runtime/Error.h"

#include <algorithm>
#include <utility>

namespace halfstep::runtime::cuda {

DeviceContext::DeviceContext(const Api &api, int number) : api(api) {
  check(driver().cuInit(0), "cuInit");
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (number >= count)
    throw Error("--device",
                std::to_string(number) + ": there " +
                    (count == 1 ? "is 1 device" : "are " + std::to_string(count) + " devices") +
                    ", counted from 0");
  check(driver().cuDeviceGet(&device, number), "cuDeviceGet");
  char text[256] = "";
  check(driver().cuDeviceGetName(text, sizeof text, device), "cuDeviceGetName");
  deviceName = text;
  check(driver().cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  enter();
}

DeviceContext::~DeviceContext() { driver().cuDevicePrimaryCtxRelease(device); }

int DeviceContext::attribute(int which) const {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

int DeviceContext::capability() const {
  return 10 * attribute(attributeComputeCapabilityMajor) +
         attribute(attributeComputeCapabilityMinor);
}

uint64_t DeviceContext::freeBytes() const {
  size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

void DeviceContext::check(Result result, const char *call) const {
  if (result == success)
    return;
  const char *text = nullptr;
  driver().cuGetErrorString(result, &text);
  throw Error("CUDA", std::string(call) + ": " + (text ? text : "unknown error") + " (" +
                          std::to_string(result) + ")");
}

void DeviceContext::finish(Stream stream) const {
  try {
    driver().cuCtxSetCurrent(context);
    driver().cuStreamSynchronize(stream);
  } catch (const Error &) {
    // A fault that an emulated device finds in work that nobody waits for any more.
  }
}

OwnedMemory allocate(const DeviceContext &context, const std::string &what, uint64_t bytes) {
  OwnedMemory memory(context);
  Result result = context.driver().cuMemAlloc(memory.target(), std::max<uint64_t>(bytes, 1));
  if (result == errorOutOfMemory)
    throw Error(context.name(),
                "has not the " + std::to_string(bytes) + " bytes of memory for " + what);
  context.check(result, "cuMemAlloc");
  return memory;
}

OwnedHostMemory allocateOnHost(const DeviceContext &context, uint64_t bytes) {
  OwnedHostMemory memory(context);
  context.check(context.driver().cuMemHostAlloc(memory.target(), std::max<uint64_t>(bytes, 1),
                                                hostAllocPortable),
                "cuMemHostAlloc");
  return memory;
}

OwnedStream makeStream(const DeviceContext &context) {
  OwnedStream stream(context);
  context.check(context.driver().cuStreamCreate(stream.target(), streamNonBlocking),
                "cuStreamCreate");
  return stream;
}

OwnedEvent makeEvent(const DeviceContext &context) {
  OwnedEvent event(context);
  context.check(context.driver().cuEventCreate(event.target(), eventDisableTiming),
                "cuEventCreate");
  return event;
}

} // namespace halfstep::runtime::cuda

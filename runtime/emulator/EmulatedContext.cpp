//===- EmulatedContext.cpp - The emulated driver: device and context --------------------------===//

#include "runtime/emulator/Emulation.h"

#include <cstdio>
#include <iterator>

namespace halfstep::runtime {

using namespace cuda;
using Needs = Emulation::Needs;

namespace {

// cuda.h's texts.
struct ErrorText {
  Result result;
  const char *text;
};
constexpr ErrorText errorTexts[] = {
    {success, "no error"},
    {errorInvalidValue, "invalid argument"},
    {errorOutOfMemory, "out of memory"},
    {errorNotInitialized, "initialization error"},
    {errorNoDevice, "no CUDA-capable device is detected"},
    {errorInvalidDevice, "invalid device ordinal"},
    {errorInvalidContext, "invalid device context"},
    {errorInvalidPtx, "a PTX JIT compilation failed"},
    {errorInvalidHandle, "invalid resource handle"},
    {errorIllegalState, "the operation cannot be performed in the present state"},
    {errorNotFound, "named symbol not found"},
    {errorNotReady, "device not ready"},
    {errorIllegalAddress, "an illegal memory access was encountered"},
    {errorLaunchOutOfResources, "too many resources requested for launch"},
    {errorMisalignedAddress, "misaligned address"},
    {errorLaunchFailed, "unspecified launch failure"},
    {errorStreamCaptureUnsupported, "operation not permitted when stream is capturing"},
    {errorStreamCaptureInvalidated, "operation failed due to a previous error during capture"},
    {errorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"},
    {errorStreamCaptureImplicit,
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {errorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"},
    {errorStreamCaptureWrongThread,
     "attempt to terminate a thread-local capture sequence from another thread"},
};

struct AttributeValue {
  int attribute, value;
};
// Of an H100, for the attributes that the back end asks for.
constexpr AttributeValue attributes[] = {
    {attributeMaxThreadsPerBlock, 1024},       {attributeMaxGridDimX, 2147483647},
    {attributeMaxSharedMemoryPerBlock, 49152}, {attributeComputeCapabilityMajor, 9},
    {attributeComputeCapabilityMinor, 0},
};

Result init(unsigned flags) {
  return emulation().enter(Needs::Nothing, [&] {
    if (flags != 0)
      return errorInvalidValue;
    emulation().isInitialised = true;
    return success;
  });
}

Result getErrorString(Result result, const char **text) {
  for (const ErrorText &each : errorTexts)
    if (each.result == result) {
      *text = each.text;
      return success;
    }
  *text = nullptr;
  return errorInvalidValue;
}

Result getDeviceCount(int *count) {
  return emulation().enter(Needs::Driver, [&] {
    if (!count)
      return errorInvalidValue;
    *count = 1;
    return success;
  });
}

Result getDevice(Device *device, int ordinal) {
  return emulation().enter(Needs::Driver, [&] {
    if (!device)
      return errorInvalidValue;
    if (ordinal != 0)
      return errorInvalidDevice;
    *device = 0;
    return success;
  });
}

Result getDeviceName(char *name, int length, Device device) {
  return emulation().enter(Needs::Driver, [&] {
    if (!name || length <= 0)
      return errorInvalidValue;
    if (device != 0)
      return errorInvalidDevice;
    std::snprintf(name, size_t(length), "emulated device");
    return success;
  });
}

Result getDeviceAttribute(int *value, int attribute, Device device) {
  return emulation().enter(Needs::Driver, [&] {
    if (!value)
      return errorInvalidValue;
    if (device != 0)
      return errorInvalidDevice;
    for (const AttributeValue &each : attributes)
      if (each.attribute == attribute) {
        *value = each.value;
        return success;
      }
    return errorInvalidValue;
  });
}

Context contextOf(uint64_t number) { return reinterpret_cast<Context>(uintptr_t(number)); }

Result retainPrimaryContext(Context *context, Device device) {
  return emulation().enter(Needs::Driver, [&] {
    if (!context)
      return errorInvalidValue;
    if (device != 0)
      return errorInvalidDevice;
    if (emulation().retained++ == 0)
      emulation().createContext();
    *context = contextOf(emulation().contextNumber);
    return success;
  });
}

// Work that nobody waited for is lost with the context.
Result releasePrimaryContext(Device device) {
  return emulation().enter(Needs::Nothing, [&] {
    if (!emulation().isInitialised)
      return errorNotInitialized;
    if (device != 0)
      return errorInvalidDevice;
    if (emulation().retained == 0)
      return errorInvalidContext;
    if (--emulation().retained == 0)
      emulation().destroyContext();
    return success;
  });
}

Result setCurrentContext(Context context) {
  return emulation().enter(Needs::Driver, [&] {
    bool isLive = emulation().retained > 0 && context == contextOf(emulation().contextNumber);
    if (context && !isLive)
      return errorInvalidContext;
    Emulation::currentContext = context ? emulation().contextNumber : 0;
    return success;
  });
}

} // namespace

void setDeviceFunctions(Driver &driver) {
  driver.cuInit = init;
  driver.cuGetErrorString = getErrorString;
  driver.cuDeviceGetCount = getDeviceCount;
  driver.cuDeviceGet = getDevice;
  driver.cuDeviceGetName = getDeviceName;
  driver.cuDeviceGetAttribute = getDeviceAttribute;
  driver.cuDevicePrimaryCtxRetain = retainPrimaryContext;
  driver.cuDevicePrimaryCtxRelease = releasePrimaryContext;
  driver.cuCtxSetCurrent = setCurrentContext;
}

} // namespace halfstep::runtime

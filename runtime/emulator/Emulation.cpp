//===- Emulation.cpp - The emulated machine of this process -----------------------------------===//

#include "runtime/emulator/Emulation.h"

#include "runtime/emulator/EmulatedCuda.h"

namespace halfstep::runtime {

using namespace cuda;

thread_local uint64_t Emulation::currentContext = 0;

Emulation &emulation() {
  static Emulation instance;
  return instance;
}

void Emulation::reset(const hs_emulated_function *functions, uint64_t count, uint64_t seed) {
  std::lock_guard<std::mutex> lock(mutex);
  destroyContext();
  this->functions.clear();
  for (uint64_t i = 0; i < count; ++i)
    this->functions[functions[i].name] = &functions[i];
  this->seed = seed;
  totalBytes = uint64_t(16) << 30;
  isInitialised = hasFailed = false;
  unsaid.reset();
}

void Emulation::createContext() {
  device = std::make_unique<EmulatedDevice>(seed);
  ++contextNumber;
}

void Emulation::destroyContext() {
  retained = 0;
  ++contextNumber;
  streams.clear();
  defaultStream = {0, std::nullopt};
  events.clear();
  modules.clear();
  kernels.clear();
  graphs.clear();
  graphExecs.clear();
  blasHandles.clear();
  descriptions.clear();
  layouts.clear();
  preferences.clear();
  device.reset();
}

Result Emulation::check(Needs needs) const {
  if (needs == Needs::Nothing)
    return success;
  if (!isInitialised)
    return errorNotInitialized;
  if (hasFailed)
    return errorLaunchFailed;
  if (needs == Needs::Context && (!device || currentContext != contextNumber))
    return errorInvalidContext;
  return success;
}

Emulation::StreamState *Emulation::stream(Stream handle) {
  return handle ? streams.find(handle) : &defaultStream;
}

Result Emulation::submit(Stream handle, const Work &work) {
  StreamState *state = stream(handle);
  if (!state)
    return errorInvalidHandle;
  if (state->capture) {
    if (state->capture->isInvalid)
      return errorStreamCaptureInvalidated;
    state->capture->work.push_back(work);
    return success;
  }
  // The default stream would have to wait for blocking ones that are being captured.
  if (state == &defaultStream)
    for (auto &entry : streams)
      if (entry.second.capture && device->streams.isBlocking(entry.second.index)) {
        invalidate(*entry.second.capture);
        return errorStreamCaptureImplicit;
      }
  device->streams.enqueue(state->index, work());
  return success;
}

Result Emulation::refuseWhileCapturing() {
  for (auto &entry : streams)
    if (auto &capture = entry.second.capture;
        capture && capture->thread == std::this_thread::get_id())
      return invalidate(*capture);
  return success;
}

Api emulatedCuda(const hs_emulated_function *functions, uint64_t count, uint64_t seed) {
  emulation().reset(functions, count, seed);
  Api api{};
  setDeviceFunctions(api.driver);
  setMemoryFunctions(api.driver);
  setStreamFunctions(api.driver);
  setModuleFunctions(api.driver);
  setDescriptorFunctions(api.blas);
  setProductFunctions(api.blas);
  return api;
}

EmulatedTraffic emulatedTraffic() {
  return emulation().device ? emulation().device->traffic : EmulatedTraffic();
}

void setEmulatedMemory(uint64_t bytes) { emulation().totalBytes = bytes; }

} // namespace halfstep::runtime

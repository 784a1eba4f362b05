//===- Emulation.h - The emulated machine of this process ---------------------------*- C++ -*-===//
//
// Everything that a handle of the emulated driver or of the emulated cuBLASLt stands for. Handles
// are numbers that are never given twice, so that one which was destroyed is known as such.
//
// An error that the driver would return is returned. A fault that a real device would let pass, or
// that it would meet as wrong numbers, is thrown as Error; from then on every call returns
// errorLaunchFailed. What frees something runs in destructors, so it does not throw: the next call
// does.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_EMULATION_H
#define HALFSTEP_RUNTIME_EMULATOR_EMULATION_H

#include "runtime/Error.h"
#include "runtime/cuda/CudaApi.h"
#include "runtime/emulator/EmulatedBlas.h"
#include "runtime/emulator/EmulatedDevice.h"

#include <mutex>
#include <optional>
#include <thread>

namespace halfstep::runtime {

/// Objects by handle.
template <typename Handle, typename Object> class Handles {
public:
  Handle add(Object object) {
    static uintptr_t last = 0x1000;
    last += 0x10;
    Handle handle = reinterpret_cast<Handle>(last);
    objects.emplace(handle, std::move(object));
    return handle;
  }
  Object *find(Handle handle) {
    auto found = objects.find(handle);
    return found == objects.end() ? nullptr : &found->second;
  }
  bool erase(Handle handle) { return objects.erase(handle) != 0; }
  void clear() { objects.clear(); }
  auto begin() { return objects.begin(); }
  auto end() { return objects.end(); }

private:
  std::map<Handle, Object> objects;
};

class Emulation {
public:
  using Work = EmulatedDevice::Work;

  struct Capture {
    uint64_t number;
    std::thread::id thread;
    bool isInvalid = false;
    std::vector<Work> work;
  };
  struct StreamState {
    uint32_t index;
    std::optional<Capture> capture;
  };
  struct EventState {
    std::optional<Moment> moment; // empty: never recorded
    uint64_t capture = 0;         // in which it was recorded; 0: in none
  };
  struct FunctionState {
    cuda::Module module;
    const hs_emulated_function *function;
    uint32_t parameters, maxThreads;
    uint64_t maxDynamicSharedBytes;
  };
  struct ModuleState {
    std::map<std::string, cuda::Function> functions;
  };
  struct GraphState {
    std::vector<Work> work;
  };

  /// Starts afresh.
  void reset(const hs_emulated_function *functions, uint64_t count, uint64_t seed);
  /// Makes the device and its context, or forgets them with all that is in them.
  void createContext();
  void destroyContext();

  enum class Needs { Nothing, Driver, Context };
  /// What every function of the driver begins with: one caller at a time, and nothing before it can
  /// be. Throws what a call that frees something could not.
  template <typename F> cuda::Result enter(Needs needs, F body);
  /// The same for what frees something. Does not throw.
  template <typename F> cuda::Result enterToFree(F body);

  /// Null: there is no such stream. The null handle is the default stream's.
  StreamState *stream(cuda::Stream handle);
  /// Puts work into a stream, or into the graph that it is being captured in.
  cuda::Result submit(cuda::Stream handle, const Work &work);
  /// What a call returns that must not be made while this thread captures, and ends such a capture;
  /// success: there is none.
  cuda::Result refuseWhileCapturing();
  static cuda::Result invalidate(Capture &capture) {
    capture.isInvalid = true;
    return cuda::errorStreamCaptureUnsupported;
  }

  std::map<std::string, const hs_emulated_function *> functions;
  uint64_t seed = 0, contextNumber = 0, captures = 0;
  uint64_t totalBytes = uint64_t(16) << 30;
  bool isInitialised = false;
  int retained = 0; // the primary context, how often
  std::unique_ptr<EmulatedDevice> device;
  Handles<cuda::Stream, StreamState> streams;
  StreamState defaultStream{0, std::nullopt};
  Handles<cuda::Event, EventState> events;
  Handles<cuda::Module, ModuleState> modules;
  Handles<cuda::Function, FunctionState> kernels;
  Handles<cuda::Graph, GraphState> graphs;
  Handles<cuda::GraphExec, GraphState> graphExecs;
  Handles<cuda::BlasHandle, int> blasHandles; // there is nothing behind one
  Handles<cuda::MatmulDescription, MatmulDescriptionState> descriptions;
  Handles<cuda::MatrixLayout, MatrixShape> layouts;
  Handles<cuda::MatmulPreference, MatmulPreferenceState> preferences;

  /// The number of the context that is current to the calling thread; 0: none.
  static thread_local uint64_t currentContext;

private:
  cuda::Result check(Needs needs) const;

  std::mutex mutex;
  bool hasFailed = false;
  std::optional<Error> unsaid; // what a call that frees something met
};

/// Of this process.
Emulation &emulation();

template <typename F> cuda::Result Emulation::enter(Needs needs, F body) {
  std::lock_guard<std::mutex> lock(mutex);
  if (unsaid && needs != Needs::Nothing) {
    Error error = *unsaid;
    unsaid.reset();
    throw error;
  }
  if (cuda::Result result = check(needs))
    return result;
  try {
    return body();
  } catch (const Error &) {
    hasFailed = true;
    throw;
  }
}

template <typename F> cuda::Result Emulation::enterToFree(F body) {
  std::lock_guard<std::mutex> lock(mutex);
  if (cuda::Result result = check(Needs::Context))
    return result;
  try {
    return body();
  } catch (const Error &error) {
    hasFailed = true;
    unsaid = error;
    return cuda::errorLaunchFailed;
  }
}

/// As Emulation::enter, for functions of cuBLASLt.
template <typename F> cuda::BlasStatus enterBlas(Emulation::Needs needs, F body) {
  cuda::BlasStatus status = cuda::blasSuccess;
  cuda::Result result = emulation().enter(needs, [&] {
    status = body();
    return cuda::success;
  });
  if (result == cuda::success)
    return status;
  return result == cuda::errorLaunchFailed ? cuda::blasExecutionFailed : cuda::blasNotInitialized;
}

/// The parts of the driver's table.
void setDeviceFunctions(cuda::Driver &driver);
void setMemoryFunctions(cuda::Driver &driver);
void setStreamFunctions(cuda::Driver &driver);
void setModuleFunctions(cuda::Driver &driver);
/// And cuBLASLt's.
void setDescriptorFunctions(cuda::CublasLt &blas);
void setProductFunctions(cuda::CublasLt &blas);

} // namespace halfstep::runtime

#endif

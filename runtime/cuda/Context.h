//===- Context.h - A device and what lives on it ------------------------------------*- C++ -*-===//
//
// The device that a back end uses, and owners of what is made there. Every failed call throws what
// the driver says of it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CUDA_CONTEXT_H
#define HALFSTEP_RUNTIME_CUDA_CONTEXT_H

#include "runtime/cuda/CudaApi.h"

#include <string>

namespace halfstep::runtime::cuda {

/// The primary context of a device. It is current in the thread that made it, or entered it last.
class DeviceContext {
public:
  /// Throws where there is no such device.
  DeviceContext(const Api &api, int number);
  DeviceContext(const DeviceContext &) = delete;
  DeviceContext &operator=(const DeviceContext &) = delete;
  ~DeviceContext();

  const Driver &driver() const { return api.driver; }
  const CublasLt &blas() const { return api.blas; }
  const std::string &name() const { return deviceName; }
  /// Makes the context current in this thread: a session may move from one to another.
  void enter() const { check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent"); }
  /// 80 for sm_80.
  int capability() const;
  uint64_t freeBytes() const;

  /// Throws unless `result` is success; `call` is the function.
  void check(Result result, const char *call) const;
  /// Enters and waits for a stream, where something is destroyed: a fault that shows now is not
  /// told.
  void finish(Stream stream) const;

private:
  int attribute(int which) const;

  Api api;
  Device device = 0;
  Context context = nullptr;
  std::string deviceName;
};

/// Owns something of the driver's that `Destroy` ends.
template <typename Handle, Result (*Driver::*Destroy)(Handle)> class Owned {
public:
  explicit Owned(const DeviceContext &context) : context(&context) {}
  Owned(Owned &&other) : context(other.context), handle(other.handle) { other.handle = {}; }
  Owned &operator=(Owned &&other) {
    std::swap(context, other.context);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Owned() {
    if (handle)
      (context->driver().*Destroy)(handle);
  }

  Handle get() const { return handle; }
  /// Where a function of the driver puts the handle, once.
  Handle *target() { return &handle; }

private:
  const DeviceContext *context;
  Handle handle{};
};

using OwnedModule = Owned<Module, &Driver::cuModuleUnload>;
using OwnedStream = Owned<Stream, &Driver::cuStreamDestroy>;
using OwnedEvent = Owned<Event, &Driver::cuEventDestroy>;
using OwnedGraph = Owned<Graph, &Driver::cuGraphDestroy>;
using OwnedGraphExec = Owned<GraphExec, &Driver::cuGraphExecDestroy>;
using OwnedMemory = Owned<Address, &Driver::cuMemFree>;
using OwnedHostMemory = Owned<void *, &Driver::cuMemFreeHost>;

/// At least a byte of the device's memory; `what` names it where there is not enough.
OwnedMemory allocate(const DeviceContext &context, const std::string &what, uint64_t bytes);
/// The host's memory, from and to which copies go without one in between.
OwnedHostMemory allocateOnHost(const DeviceContext &context, uint64_t bytes);
OwnedStream makeStream(const DeviceContext &context);
OwnedEvent makeEvent(const DeviceContext &context);

} // namespace halfstep::runtime::cuda

#endif

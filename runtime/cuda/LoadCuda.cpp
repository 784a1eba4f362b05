//===- LoadCuda.cpp - NVIDIA's libraries, loaded at run time ----------------------------------===//

#include "runtime/cuda/LoadCuda.h"

#include "runtime/Error.h"
#include "runtime/Library.h"

namespace halfstep::runtime {

namespace {
/// A function of a library: its symbol, and where its address goes.
struct Symbol {
  const char *name;
  void **address;
};

template <typename Function> Symbol symbol(const char *name, Function *&function) {
  return {name, reinterpret_cast<void **>(&function)};
}

/// The first symbol that the library lacks; null if it has all.
const char *resolve(const Library &library, std::initializer_list<Symbol> symbols) {
  for (const Symbol &symbol : symbols) {
    void (*function)();
    if (!library.resolve(symbol.name, function))
      return symbol.name;
    *symbol.address = reinterpret_cast<void *>(function);
  }
  return nullptr;
}
} // namespace

cuda::Api loadCuda() {
  cuda::Api api{};
  cuda::Driver &d = api.driver;
  Library driver("libcuda.so.1");
  if (!driver.isLoaded())
    throw Error("CUDA", "there is no driver of an NVIDIA GPU here (" + driver.reason() + ")");
  const char *missing =
      resolve(driver, {symbol("cuInit", d.cuInit),
                       symbol("cuGetErrorString", d.cuGetErrorString),
                       symbol("cuDeviceGetCount", d.cuDeviceGetCount),
                       symbol("cuDeviceGet", d.cuDeviceGet),
                       symbol("cuDeviceGetName", d.cuDeviceGetName),
                       symbol("cuDeviceGetAttribute", d.cuDeviceGetAttribute),
                       symbol("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain),
                       symbol("cuDevicePrimaryCtxRelease_v2", d.cuDevicePrimaryCtxRelease),
                       symbol("cuCtxSetCurrent", d.cuCtxSetCurrent),
                       symbol("cuMemGetInfo_v2", d.cuMemGetInfo),
                       symbol("cuMemAlloc_v2", d.cuMemAlloc),
                       symbol("cuMemFree_v2", d.cuMemFree),
                       symbol("cuMemHostAlloc", d.cuMemHostAlloc),
                       symbol("cuMemFreeHost", d.cuMemFreeHost),
                       symbol("cuMemcpyHtoDAsync_v2", d.cuMemcpyHtoDAsync),
                       symbol("cuMemcpyDtoHAsync_v2", d.cuMemcpyDtoHAsync),
                       symbol("cuMemcpyDtoDAsync_v2", d.cuMemcpyDtoDAsync),
                       symbol("cuMemsetD8Async", d.cuMemsetD8Async),
                       symbol("cuStreamCreate", d.cuStreamCreate),
                       symbol("cuStreamDestroy_v2", d.cuStreamDestroy),
                       symbol("cuStreamSynchronize", d.cuStreamSynchronize),
                       symbol("cuStreamWaitEvent", d.cuStreamWaitEvent),
                       symbol("cuStreamBeginCapture_v2", d.cuStreamBeginCapture),
                       symbol("cuStreamEndCapture", d.cuStreamEndCapture),
                       symbol("cuEventCreate", d.cuEventCreate),
                       symbol("cuEventRecord", d.cuEventRecord),
                       symbol("cuEventSynchronize", d.cuEventSynchronize),
                       symbol("cuEventDestroy_v2", d.cuEventDestroy),
                       symbol("cuModuleLoadDataEx", d.cuModuleLoadDataEx),
                       symbol("cuModuleUnload", d.cuModuleUnload),
                       symbol("cuModuleGetFunction", d.cuModuleGetFunction),
                       symbol("cuFuncSetAttribute", d.cuFuncSetAttribute),
                       symbol("cuLaunchKernel", d.cuLaunchKernel),
                       symbol("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags),
                       symbol("cuGraphLaunch", d.cuGraphLaunch),
                       symbol("cuGraphExecDestroy", d.cuGraphExecDestroy),
                       symbol("cuGraphDestroy", d.cuGraphDestroy)});
  if (missing)
    throw Error("CUDA", std::string("the driver lacks ") + missing)
        .help("it has to be of CUDA 11.8 or newer");

  cuda::CublasLt &b = api.blas;
  for (const char *file : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}) {
    Library blas(file);
    if (blas.isLoaded() &&
        !resolve(
            blas,
            {symbol("cublasLtCreate", b.cublasLtCreate),
             symbol("cublasLtDestroy", b.cublasLtDestroy),
             symbol("cublasLtMatmulDescCreate", b.cublasLtMatmulDescCreate),
             symbol("cublasLtMatmulDescDestroy", b.cublasLtMatmulDescDestroy),
             symbol("cublasLtMatmulDescSetAttribute", b.cublasLtMatmulDescSetAttribute),
             symbol("cublasLtMatrixLayoutCreate", b.cublasLtMatrixLayoutCreate),
             symbol("cublasLtMatrixLayoutDestroy", b.cublasLtMatrixLayoutDestroy),
             symbol("cublasLtMatrixLayoutSetAttribute", b.cublasLtMatrixLayoutSetAttribute),
             symbol("cublasLtMatmulPreferenceCreate", b.cublasLtMatmulPreferenceCreate),
             symbol("cublasLtMatmulPreferenceDestroy", b.cublasLtMatmulPreferenceDestroy),
             symbol("cublasLtMatmulPreferenceSetAttribute", b.cublasLtMatmulPreferenceSetAttribute),
             symbol("cublasLtMatmulAlgoGetHeuristic", b.cublasLtMatmulAlgoGetHeuristic),
             symbol("cublasLtMatmul", b.cublasLtMatmul)}))
      return api;
  }
  b = {};
  return api;
}

} // namespace halfstep::runtime

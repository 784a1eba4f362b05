//===- CudaApi.h - What is called of NVIDIA's libraries -----------------------------*- C++ -*-===//
//
// The functions of the CUDA driver and of cuBLASLt that the CUDA back end calls, as tables of
// pointers: filled from the libraries when they are loaded at run time, or by the emulator. Nothing
// is linked and no header of NVIDIA's is needed; types and numbers below are those of cuda.h and
// cublasLt.h, which tests/runtime compares where the toolkit is installed.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CUDA_CUDAAPI_H
#define HALFSTEP_RUNTIME_CUDA_CUDAAPI_H

#include <cstddef>
#include <cstdint>

namespace halfstep::runtime::cuda {

//===------------------------------------------------------------------------------------------===//
// The driver
//===------------------------------------------------------------------------------------------===//

using Result = int; // CUresult
using Device = int;
using Address = uint64_t; // CUdeviceptr
using Context = struct OpaqueContext *;
using Module = struct OpaqueModule *;
using Function = struct OpaqueFunction *;
using Stream = struct OpaqueStream *;
using Event = struct OpaqueEvent *;
using Graph = struct OpaqueGraph *;
using GraphExec = struct OpaqueGraphExec *;

enum : Result {
  success = 0,
  errorInvalidValue = 1,
  errorOutOfMemory = 2,
  errorNotInitialized = 3,
  errorNoDevice = 100,
  errorInvalidDevice = 101,
  errorInvalidContext = 201,
  errorInvalidPtx = 218,
  errorInvalidHandle = 400,
  errorIllegalState = 401,
  errorNotFound = 500,
  errorNotReady = 600,
  errorIllegalAddress = 700,
  errorLaunchOutOfResources = 701,
  errorMisalignedAddress = 716,
  errorLaunchFailed = 719,
  errorStreamCaptureUnsupported = 900,
  errorStreamCaptureInvalidated = 901,
  errorStreamCaptureIsolation = 905,
  errorStreamCaptureImplicit = 906,
  errorCapturedEvent = 907,
  errorStreamCaptureWrongThread = 908,
};

enum : int { // CUdevice_attribute
  attributeMaxThreadsPerBlock = 1,
  attributeMaxGridDimX = 5,
  attributeMaxSharedMemoryPerBlock = 8,
  attributeComputeCapabilityMajor = 75,
  attributeComputeCapabilityMinor = 76,
};
enum : int { functionMaxDynamicSharedBytes = 8 }; // CUfunction_attribute
enum : unsigned {
  streamNonBlocking = 1,
  eventDisableTiming = 2,
  captureThreadLocal = 1,
  hostAllocPortable = 1,
};
enum : int { // CUjit_option
  jitErrorLogBuffer = 5,
  jitErrorLogBufferBytes = 6,
};

/// Members carry the names of the functions, in the version that cuda.h gives those names.
struct Driver {
  Result (*cuInit)(unsigned flags);
  Result (*cuGetErrorString)(Result, const char **text);
  Result (*cuDeviceGetCount)(int *count);
  Result (*cuDeviceGet)(Device *, int ordinal);
  Result (*cuDeviceGetName)(char *name, int length, Device);
  Result (*cuDeviceGetAttribute)(int *value, int attribute, Device);
  Result (*cuDevicePrimaryCtxRetain)(Context *, Device);
  Result (*cuDevicePrimaryCtxRelease)(Device);
  Result (*cuCtxSetCurrent)(Context);
  Result (*cuMemGetInfo)(size_t *free, size_t *total);
  Result (*cuMemAlloc)(Address *, size_t bytes);
  Result (*cuMemFree)(Address);
  Result (*cuMemHostAlloc)(void **, size_t bytes, unsigned flags);
  Result (*cuMemFreeHost)(void *);
  Result (*cuMemcpyHtoDAsync)(Address target, const void *source, size_t bytes, Stream);
  Result (*cuMemcpyDtoHAsync)(void *target, Address source, size_t bytes, Stream);
  Result (*cuMemcpyDtoDAsync)(Address target, Address source, size_t bytes, Stream);
  Result (*cuMemsetD8Async)(Address target, unsigned char value, size_t bytes, Stream);
  Result (*cuStreamCreate)(Stream *, unsigned flags);
  Result (*cuStreamDestroy)(Stream);
  Result (*cuStreamSynchronize)(Stream);
  Result (*cuStreamWaitEvent)(Stream, Event, unsigned flags);
  Result (*cuStreamBeginCapture)(Stream, unsigned mode);
  Result (*cuStreamEndCapture)(Stream, Graph *);
  Result (*cuEventCreate)(Event *, unsigned flags);
  Result (*cuEventRecord)(Event, Stream);
  Result (*cuEventSynchronize)(Event);
  Result (*cuEventDestroy)(Event);
  Result (*cuModuleLoadDataEx)(Module *, const void *image, unsigned count, int *options,
                               void **values);
  Result (*cuModuleUnload)(Module);
  Result (*cuModuleGetFunction)(Function *, Module, const char *name);
  Result (*cuFuncSetAttribute)(Function, int attribute, int value);
  Result (*cuLaunchKernel)(Function, unsigned gridX, unsigned gridY, unsigned gridZ,
                           unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                           Stream, void **parameters, void **extra);
  Result (*cuGraphInstantiateWithFlags)(GraphExec *, Graph, unsigned long long flags);
  Result (*cuGraphLaunch)(GraphExec, Stream);
  Result (*cuGraphExecDestroy)(GraphExec);
  Result (*cuGraphDestroy)(Graph);
};

//===------------------------------------------------------------------------------------------===//
// cuBLASLt
//===------------------------------------------------------------------------------------------===//

using BlasStatus = int; // cublasStatus_t; 0 is success
using BlasHandle = struct OpaqueBlas *;
using MatmulDescription = struct OpaqueMatmulDescription *;
using MatrixLayout = struct OpaqueMatrixLayout *;
using MatmulPreference = struct OpaqueMatmulPreference *;

/// cublasLtMatmulAlgo_t, whose content is the library's own.
struct MatmulAlgorithm {
  uint64_t data[8];
};
/// cublasLtMatmulHeuristicResult_t
struct MatmulHeuristic {
  MatmulAlgorithm algorithm;
  size_t workspaceBytes;
  BlasStatus state;
  float wavesCount;
  int reserved[4];
};

enum : BlasStatus {
  blasSuccess = 0,
  blasNotInitialized = 1,
  blasInvalidValue = 7,
  blasExecutionFailed = 13,
  blasNotSupported = 15,
};
enum : int { // cudaDataType_t
  dataF32 = 0,
  dataF64 = 1,
  dataF16 = 2,
  dataBF16 = 14,
};
enum : int { // cublasComputeType_t
  computeF32 = 68,
  computeF32FastTF32 = 77,
  computeF64 = 70,
};
enum : int { // cublasOperation_t
  operationNone = 0,
  operationTranspose = 1,
};
enum : int { // cublasLtMatmulDescAttributes_t
  matmulTransposeA = 3,
  matmulTransposeB = 4,
  matmulEpilogue = 7,
  matmulBiasPointer = 8,
  matmulBiasType = 26,
};
enum : unsigned { // cublasLtEpilogue_t
  epilogueDefault = 1,
  epilogueBias = 4,
};
enum : int { // cublasLtMatrixLayoutAttribute_t
  layoutBatchCount = 5,
  layoutBatchStride = 6,
};
enum : int { // cublasLtMatmulPreferenceAttributes_t
  preferenceMaxWorkspaceBytes = 1,
  preferenceReductionScheme = 3,
  preferenceMinAlignmentA = 5, // and of B, C and D
};
enum : unsigned { // cublasLtReductionScheme_t
  reductionNone = 0,
  reductionComputeType = 2,
};

struct CublasLt {
  BlasStatus (*cublasLtCreate)(BlasHandle *);
  BlasStatus (*cublasLtDestroy)(BlasHandle);
  BlasStatus (*cublasLtMatmulDescCreate)(MatmulDescription *, int computeType, int scaleType);
  BlasStatus (*cublasLtMatmulDescDestroy)(MatmulDescription);
  BlasStatus (*cublasLtMatmulDescSetAttribute)(MatmulDescription, int attribute, const void *value,
                                               size_t bytes);
  BlasStatus (*cublasLtMatrixLayoutCreate)(MatrixLayout *, int type, uint64_t rows,
                                           uint64_t columns, int64_t leadingDimension);
  BlasStatus (*cublasLtMatrixLayoutDestroy)(MatrixLayout);
  BlasStatus (*cublasLtMatrixLayoutSetAttribute)(MatrixLayout, int attribute, const void *value,
                                                 size_t bytes);
  BlasStatus (*cublasLtMatmulPreferenceCreate)(MatmulPreference *);
  BlasStatus (*cublasLtMatmulPreferenceDestroy)(MatmulPreference);
  BlasStatus (*cublasLtMatmulPreferenceSetAttribute)(MatmulPreference, int attribute,
                                                     const void *value, size_t bytes);
  BlasStatus (*cublasLtMatmulAlgoGetHeuristic)(BlasHandle, MatmulDescription, MatrixLayout a,
                                               MatrixLayout b, MatrixLayout c, MatrixLayout d,
                                               MatmulPreference, int requested, MatmulHeuristic *,
                                               int *found);
  BlasStatus (*cublasLtMatmul)(BlasHandle, MatmulDescription, const void *alpha, const void *a,
                               MatrixLayout aLayout, const void *b, MatrixLayout bLayout,
                               const void *beta, const void *c, MatrixLayout cLayout, void *d,
                               MatrixLayout dLayout, const MatmulAlgorithm *, void *workspace,
                               size_t workspaceBytes, Stream);
};

/// Both, from wherever they come.
struct Api {
  Driver driver;
  CublasLt blas;
};

} // namespace halfstep::runtime::cuda

#endif

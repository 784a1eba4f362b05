//===- cuda_numbers_test.cpp - CudaApi.h against the toolkit's headers ------------------------===//
//
// The numbers and layouts of runtime/cuda/CudaApi.h are those of cuda.h and cublasLt.h. Compiled
// where these are installed; there is nothing to run.
//
//===------------------------------------------------------------------------------------------===//

// First: it gives newer versions of functions the old names, by macros that have to meet ours too.
#include <cuda.h>

#include "runtime/cuda/CudaApi.h"

#include <cublasLt.h>
#include <gtest/gtest.h>
#include <type_traits>
#include <utility>

namespace api = halfstep::runtime::cuda;

#define SAME(OURS, THEIRS) static_assert(int(api::OURS) == int(THEIRS), #OURS " is not " #THEIRS)

SAME(success, CUDA_SUCCESS);
SAME(errorInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(errorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(errorNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(errorNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(errorInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(errorInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(errorInvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(errorInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(errorIllegalState, CUDA_ERROR_ILLEGAL_STATE);
SAME(errorNotFound, CUDA_ERROR_NOT_FOUND);
SAME(errorNotReady, CUDA_ERROR_NOT_READY);
SAME(errorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(errorLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(errorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(errorLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(errorStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(errorStreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(errorStreamCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(errorStreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(errorCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME(errorStreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);

SAME(attributeMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(attributeMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(attributeMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(attributeComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(attributeComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(functionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(eventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(captureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(hostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(jitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(jitErrorLogBufferBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

SAME(blasSuccess, CUBLAS_STATUS_SUCCESS);
SAME(blasNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(blasInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME(blasExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(blasNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(dataF32, CUDA_R_32F);
SAME(dataF64, CUDA_R_64F);
SAME(dataF16, CUDA_R_16F);
SAME(dataBF16, CUDA_R_16BF);
SAME(computeF32, CUBLAS_COMPUTE_32F);
SAME(computeF32FastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(computeF64, CUBLAS_COMPUTE_64F);
SAME(operationNone, CUBLAS_OP_N);
SAME(operationTranspose, CUBLAS_OP_T);
SAME(matmulTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(matmulTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(matmulEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(matmulBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(matmulBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(epilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
SAME(epilogueBias, CUBLASLT_EPILOGUE_BIAS);
SAME(layoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(layoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(preferenceMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(preferenceReductionScheme, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(preferenceMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(preferenceMinAlignmentA + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(reductionNone, CUBLASLT_REDUCTION_SCHEME_NONE);
SAME(reductionComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

static_assert(sizeof(api::MatmulAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(api::MatmulHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
#define SAME_PLACE(OURS, THEIRS)                                                                   \
  static_assert(offsetof(api::MatmulHeuristic, OURS) ==                                            \
                offsetof(cublasLtMatmulHeuristicResult_t, THEIRS))
SAME_PLACE(workspaceBytes, workspaceSize);
SAME_PLACE(state, state);
SAME_PLACE(wavesCount, wavesCount);
static_assert(std::is_same_v<CUdevice, api::Device>);
static_assert(std::is_same_v<CUdeviceptr, unsigned long long> && sizeof(api::Address) == 8);

/// The sizes of a function's result and arguments.
template <typename Function> struct Sizes;
template <typename Result, typename... Arguments> struct Sizes<Result (*)(Arguments...)> {
  using type = std::index_sequence<sizeof(Result), sizeof(Arguments)...>;
};
#define SAME_SIZES(TABLE, NAME)                                                                    \
  static_assert(                                                                                   \
      std::is_same_v<Sizes<decltype(api::TABLE::NAME)>::type, Sizes<decltype(&::NAME)>::type>)
SAME_SIZES(Driver, cuInit);
SAME_SIZES(Driver, cuGetErrorString);
SAME_SIZES(Driver, cuDeviceGetCount);
SAME_SIZES(Driver, cuDeviceGet);
SAME_SIZES(Driver, cuDeviceGetName);
SAME_SIZES(Driver, cuDeviceGetAttribute);
SAME_SIZES(Driver, cuDevicePrimaryCtxRetain);
SAME_SIZES(Driver, cuDevicePrimaryCtxRelease);
SAME_SIZES(Driver, cuCtxSetCurrent);
SAME_SIZES(Driver, cuMemGetInfo);
SAME_SIZES(Driver, cuMemAlloc);
SAME_SIZES(Driver, cuMemFree);
SAME_SIZES(Driver, cuMemHostAlloc);
SAME_SIZES(Driver, cuMemFreeHost);
SAME_SIZES(Driver, cuMemcpyHtoDAsync);
SAME_SIZES(Driver, cuMemcpyDtoHAsync);
SAME_SIZES(Driver, cuMemcpyDtoDAsync);
SAME_SIZES(Driver, cuMemsetD8Async);
SAME_SIZES(Driver, cuStreamCreate);
SAME_SIZES(Driver, cuStreamDestroy);
SAME_SIZES(Driver, cuStreamSynchronize);
SAME_SIZES(Driver, cuStreamWaitEvent);
SAME_SIZES(Driver, cuStreamBeginCapture);
SAME_SIZES(Driver, cuStreamEndCapture);
SAME_SIZES(Driver, cuEventCreate);
SAME_SIZES(Driver, cuEventRecord);
SAME_SIZES(Driver, cuEventSynchronize);
SAME_SIZES(Driver, cuEventDestroy);
SAME_SIZES(Driver, cuModuleLoadDataEx);
SAME_SIZES(Driver, cuModuleUnload);
SAME_SIZES(Driver, cuModuleGetFunction);
SAME_SIZES(Driver, cuFuncSetAttribute);
SAME_SIZES(Driver, cuLaunchKernel);
SAME_SIZES(Driver, cuGraphInstantiateWithFlags);
SAME_SIZES(Driver, cuGraphLaunch);
SAME_SIZES(Driver, cuGraphExecDestroy);
SAME_SIZES(Driver, cuGraphDestroy);
SAME_SIZES(CublasLt, cublasLtCreate);
SAME_SIZES(CublasLt, cublasLtDestroy);
SAME_SIZES(CublasLt, cublasLtMatmulDescCreate);
SAME_SIZES(CublasLt, cublasLtMatmulDescDestroy);
SAME_SIZES(CublasLt, cublasLtMatmulDescSetAttribute);
SAME_SIZES(CublasLt, cublasLtMatrixLayoutCreate);
SAME_SIZES(CublasLt, cublasLtMatrixLayoutDestroy);
SAME_SIZES(CublasLt, cublasLtMatrixLayoutSetAttribute);
SAME_SIZES(CublasLt, cublasLtMatmulPreferenceCreate);
SAME_SIZES(CublasLt, cublasLtMatmulPreferenceDestroy);
SAME_SIZES(CublasLt, cublasLtMatmulPreferenceSetAttribute);
SAME_SIZES(CublasLt, cublasLtMatmulAlgoGetHeuristic);
SAME_SIZES(CublasLt, cublasLtMatmul);

TEST(CudaNumbers, AreThoseOfTheToolkit) { SUCCEED(); }

//===- LoadCuda.h - NVIDIA's libraries, loaded at run time --------------------------*- C++ -*-===//
#ifndef HALFSTEP_RUNTIME_CUDA_LOADCUDA_H
#define HALFSTEP_RUNTIME_CUDA_LOADCUDA_H

#include "runtime/cuda/CudaApi.h"

namespace halfstep::runtime {

/// Loads the driver, and cuBLASLt where it is found: its functions are null where it is not. Throws
/// where there is no driver, or it is too old.
cuda::Api loadCuda();

} // namespace halfstep::runtime

#endif

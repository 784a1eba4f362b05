//===- CpuKernels.h - Copies, fills and f64 products --------------------------------*- C++ -*-===//
//
// Range kernels for the entries that need no generated code. Behind the buffers of the entry, their
// list of pointers holds the entry's own detail.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CPUKERNELS_H
#define HALFSTEP_RUNTIME_CPUKERNELS_H

#include "runtime/step_abi.h"

namespace halfstep::runtime {

/// Bytes of a unit of `copyBytes` and `fillBytes`.
inline constexpr int64_t bytesPerUnit = 4096;

/// Buffers: destination, source, the `hs_slice` of the destination.
void copyBytes(void *const *buffers, int64_t lo, int64_t hi);

/// Buffers: destination, the `hs_slice` of it.
void fillBytes(void *const *buffers, int64_t lo, int64_t hi);

/// A matrix product in f64: every element is one chain of fused multiply-adds over ascending k, and
/// then the bias. One unit is a row of c; batch * m in all. Buffers: a, b, the bias if there is one,
/// c, the `hs_gemm`. Needs AVX2 and FMA.
void multiplyDoubles(void *const *buffers, int64_t lo, int64_t hi);
void multiplyDoublesWithBias(void *const *buffers, int64_t lo, int64_t hi);

} // namespace halfstep::runtime

#endif

//===- EmulatedBlas.h - What the handles of cuBLASLt stand for ----------------------*- C++ -*-===//
//
// A blas handle itself has nothing behind it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_EMULATEDBLAS_H
#define HALFSTEP_RUNTIME_EMULATOR_EMULATEDBLAS_H

#include "runtime/emulator/MatrixProduct.h"

#include <array>

namespace halfstep::runtime {

/// cublasLtMatmulDesc_t
struct MatmulDescriptionState {
  int computeType, scaleType;
  int32_t transposeA = cuda::operationNone, transposeB = cuda::operationNone;
  uint32_t epilogue = cuda::epilogueDefault;
  const void *bias = nullptr;
  int32_t biasType = -1; // D's
};

/// cublasLtMatmulPreference_t
struct MatmulPreferenceState {
  uint64_t maxWorkspaceBytes = 0;
  uint32_t reductionSchemes = ~uint32_t(0); // all
  /// What the addresses of a, b, c and d will be multiples of.
  std::array<uint32_t, 4> alignments{256, 256, 256, 256};
};

/// The one algorithm there is for a product, as the library's opaque one holds it.
struct EmulatedAlgorithm {
  uint64_t problem; // which product it is for
  uint64_t workspaceBytes;
  std::array<uint32_t, 4> alignments; // that it relies on
};

} // namespace halfstep::runtime

#endif

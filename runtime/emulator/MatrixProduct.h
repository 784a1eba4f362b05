//===- MatrixProduct.h - What an emulated cublasLtMatmul computes -------------------*- C++ -*-===//
//
// D = alpha op(A) op(B) + beta C + bias, matrices column by column as in BLAS. Products are added
// up in f32 (f64 for f64) in an order that k alone gives: 256 at a time, then the sums of those.
// What is added to D's type is rounded once.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_MATRIXPRODUCT_H
#define HALFSTEP_RUNTIME_EMULATOR_MATRIXPRODUCT_H

#include "runtime/cuda/CudaApi.h"

namespace halfstep::runtime {

/// cublasLtMatrixLayout_t
struct MatrixShape {
  int type = cuda::dataF32;
  uint64_t rows = 0, columns = 0;
  int64_t leadingDimension = 0; // elements from column to column
  int32_t batchCount = 1;
  int64_t batchStride = 0; // elements
  bool operator==(const MatrixShape &other) const {
    return type == other.type && rows == other.rows && columns == other.columns &&
           leadingDimension == other.leadingDimension && batchCount == other.batchCount &&
           batchStride == other.batchStride;
  }
};

/// 0: no type of a matrix.
uint64_t bytesOfType(int type);

struct MatrixProduct {
  MatrixShape a, b, c, d;
  bool isATransposed = false, isBTransposed = false;
  bool isFastTf32 = false; // rounds f32 operands to 11 significant bits
  bool hasBias = false;
  double alpha = 1, beta = 0;

  uint64_t rows() const { return d.rows; }
  uint64_t columns() const { return d.columns; }
  uint64_t depth() const { return isATransposed ? a.rows : a.columns; }

  /// `bias` has d.rows elements of D's type; C is not read where beta is zero. D may be C.
  void compute(const void *aData, const void *bData, const void *cData, void *dData,
               const void *bias) const;
};

} // namespace halfstep::runtime

#endif

//===- CudaTensorCores.h - what a warp does for matrix products -----------------------------===//
//
// As LLVM's intrinsics: MLIR's operations take bf16 in a type that the back end does not know.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CUDATENSORCORES_H
#define HALFSTEP_CODEGEN_CUDATENSORCORES_H

#include "codegen/CudaGroupEmitter.h"

namespace halfstep::codegen {

/// Copies 16 bytes, or zeros where `isThere` does not hold, to shared memory, while the thread goes
/// on. `from` is readable in any case; `isThere` may be null.
void copyAsync(CudaBuilder &b, Value to, Value from, Value isThere);
/// What the thread has copied since the last commit is a group.
void commitCopies(CudaBuilder &b);
/// Goes on when all groups of the thread but the last `pending` are there.
void waitForCopies(CudaBuilder &b, int64_t pending);

/// ldmatrix: the warp's part of four 8x8 matrices of 16 bits, of which lane i gives the address of
/// row i % 8 of matrix i / 8.
SmallVector<Value> loadMatrices(CudaBuilder &b, Value row, bool isTransposed);

/// mma: sums += left * right for 16x16 and 16x8 elements of `storage`, f16 or bf16; `sums` are four
/// f32.
void multiplyMatrices(CudaBuilder &b, Type storage, ArrayRef<Value> left, ArrayRef<Value> right,
                      llvm::MutableArrayRef<Value> sums);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CUDATENSORCORES_H

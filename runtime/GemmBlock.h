//===- GemmBlock.h - How a matrix product is shared out -----------------------------*- C++ -*-===//
//
// A matrix product is cut into blocks that depend on its shape alone, and each block is one oneDNN
// call on one thread. oneDNN's own threading picks another blocking for another number of threads,
// down to how the inner dimension is split (measured: a^T b of 32 x 32 x 65536 differs between one
// thread and two): the same program would give other bits on another machine.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_GEMMBLOCK_H
#define HALFSTEP_RUNTIME_GEMMBLOCK_H

#include "runtime/step_abi.h"

namespace halfstep::runtime {

/// The size of the blocks: `batch` whole matrices, or rows and columns of one.
struct GemmBlock {
  int64_t batch, rows, columns;
};

/// The finest cut whose blocks are each worth a thread and that costs at most a tenth more work; finer
/// where a block of a 16-bit result would need more than a megabyte for its sums in f32.
GemmBlock chooseGemmBlock(const hs_gemm &gemm);

} // namespace halfstep::runtime

#endif

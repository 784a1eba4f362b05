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

#include <array>

namespace halfstep::runtime {

/// The size of the blocks: `batch` whole matrices, or rows and columns of one.
struct GemmBlock {
  int64_t batch, rows, columns;
};

/// The finest cut whose blocks are each worth a thread and that costs at most a tenth more work;
/// finer where a block of a 16-bit result would need more than a megabyte for its sums in f32.
GemmBlock chooseGemmBlock(const hs_gemm &gemm);

/// As `chooseGemmBlock`, for operands that are widened in scratch memory.
GemmBlock chooseWidenedBlock(const hs_gemm &gemm);

/// The products of the blocks, by whether one is the last of the batch (4), the rows (2), the
/// columns (1), where it may be smaller. Those that the cut has none of have a batch of 0.
std::array<hs_gemm, 8> blockProducts(const hs_gemm &gemm, GemmBlock block);

/// How much of k the product of a widened block multiplies at once.
int64_t chooseWidenedDepth(const hs_gemm &block);

/// The elements that it takes in scratch memory: parts of a and of b, the sums and a bias.
int64_t widenedElements(const hs_gemm &block);

} // namespace halfstep::runtime

#endif

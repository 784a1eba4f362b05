//===- GemmBlock.cpp - How a matrix product is shared out -------------------------------------===//
//
// A search over halvings of both dimensions, finest first by count.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/GemmBlock.h"

#include "runtime/Parts.h"

#include <algorithm>

namespace halfstep::runtime {

// Half of an extent, a multiple of 16: the columns of a vector.
static int64_t halve(int64_t extent) { return ceilDiv(ceilDiv(extent, 2), 16) * 16; }

// oneDNN keeps the sums of a whole block beside a 16-bit result, in scratch memory of the worker.
static GemmBlock boundSums(const hs_gemm &gemm, GemmBlock block) {
  constexpr int64_t most = 1 << 18;
  if (gemm.c_type == HS_F16 || gemm.c_type == HS_BF16)
    while (block.rows * block.columns > most) {
      int64_t &longer = block.rows > block.columns ? block.rows : block.columns;
      longer = halve(longer);
    }
  return block;
}

GemmBlock chooseGemmBlock(const hs_gemm &gemm) {
  // Multiply-adds that are worth a thread: about 10 microseconds of one core.
  constexpr double worthwhile = 1 << 19;
  constexpr int64_t mostBlocks = 64;
  double matrix = double(gemm.m) * double(gemm.n) * double(gemm.k);
  if (matrix < worthwhile)
    return {std::min(gemm.batch, int64_t(worthwhile / matrix) + 1), gemm.m, gemm.n};

  // Each block packs its rows of a and its columns of b again. Measured on AVX-512, packing one
  // element takes as long as 30 multiply-adds for a transposed operand, 5 for another.
  double packA = gemm.transpose_a ? 30 : 5, packB = gemm.transpose_b ? 30 : 5;
  auto packing = [&](int64_t rows, int64_t columns) {
    return packA / double(columns) + packB / double(rows);
  };
  double bound = packing(gemm.m, gemm.n) + 0.1;

  GemmBlock best{1, gemm.m, gemm.n};
  int64_t bestCount = 1;
  for (int64_t rows = gemm.m;; rows = halve(rows)) {
    for (int64_t columns = gemm.n;; columns = halve(columns)) {
      int64_t count = ceilDiv(gemm.m, rows) * ceilDiv(gemm.n, columns);
      if (double(rows) * double(columns) * double(gemm.k) < worthwhile ||
          count * gemm.batch > mostBlocks)
        break;
      bool isCheaper = packing(rows, columns) < packing(best.rows, best.columns);
      if (packing(rows, columns) <= bound &&
          (count > bestCount || (count == bestCount && isCheaper))) {
        best = {1, rows, columns};
        bestCount = count;
      }
      if (columns <= 16)
        break;
    }
    if (rows <= 16)
      return boundSums(gemm, best);
  }
}

} // namespace halfstep::runtime

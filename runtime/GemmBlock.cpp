//===- GemmBlock.cpp - How a matrix product is shared out -------------------------------------===//
//
// A search over halvings of both dimensions, finest first by count.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/GemmBlock.h"

#include <algorithm>

namespace halfstep::runtime {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

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

  // Halves are kept to multiples of 16, the columns of a vector.
  auto halve = [](int64_t extent) { return ceilDiv(ceilDiv(extent, 2), 16) * 16; };
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
      return best;
  }
}

} // namespace halfstep::runtime

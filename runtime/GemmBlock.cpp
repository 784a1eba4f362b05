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

GemmBlock chooseWidenedBlock(const hs_gemm &gemm) {
  // Each element is converted once for 256 multiply-adds.
  constexpr int64_t most = 256;
  GemmBlock block = chooseGemmBlock(gemm);
  block.rows = std::min(block.rows, most);
  block.columns = std::min(block.columns, most);
  block.batch = std::clamp<int64_t>(most * most / (block.rows * block.columns), 1, block.batch);
  return block;
}

std::array<hs_gemm, 8> blockProducts(const hs_gemm &gemm, GemmBlock block) {
  std::array<hs_gemm, 8> products;
  products.fill(gemm);
  for (size_t i = 0; i < products.size(); ++i) {
    // The size of a block; 0 where only the last one is there.
    auto size = [&](bool isLast, int64_t extent, int64_t whole) {
      int64_t rest = extent - (ceilDiv(extent, whole) - 1) * whole;
      return isLast ? rest : extent > whole ? whole : 0;
    };
    products[i].m = size(i & 2, gemm.m, block.rows);
    products[i].n = size(i & 1, gemm.n, block.columns);
    bool isThere = products[i].m && products[i].n;
    products[i].batch = isThere ? size(i & 4, gemm.batch, block.batch) : 0;
  }
  return products;
}

int64_t chooseWidenedDepth(const hs_gemm &block) {
  constexpr int64_t elements = 1 << 18; // a megabyte of operands
  int64_t perStep =
      (block.a_stride ? block.batch : 1) * block.m + (block.b_stride ? block.batch : 1) * block.n;
  return std::clamp<int64_t>(elements / perStep, 1, block.k);
}

int64_t widenedElements(const hs_gemm &block) {
  int64_t a = (block.a_stride ? block.batch : 1) * block.m;
  int64_t b = (block.b_stride ? block.batch : 1) * block.n;
  return (a + b) * chooseWidenedDepth(block) + (block.batch * block.m + 1) * block.n;
}

} // namespace halfstep::runtime

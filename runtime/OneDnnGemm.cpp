//===- OneDnnGemm.cpp - Large matrix products by oneDNN ---------------------------------------===//

#include "runtime/OneDnnGemm.h"

#include "runtime/Parts.h"
#include "runtime/ThreadPool.h"
#include "runtime/Types.h"

#include <algorithm>

namespace halfstep::runtime {

OneDnnGemm::OneDnnGemm(OneDnn &oneDnn, const WorkerMemory &scratch, const hs_gemm &gemm)
    : gemm(gemm), widens(!OneDnnProduct::isSupported(gemm)),
      block(widens ? chooseWidenedBlock(gemm) : chooseGemmBlock(gemm)),
      batchBlocks(ceilDiv(gemm.batch, block.batch)), rowBlocks(ceilDiv(gemm.m, block.rows)),
      columnBlocks(ceilDiv(gemm.n, block.columns)) {
  int workers = int(std::min<int64_t>(oneDnn.workers(), units()));
  std::array<hs_gemm, 8> parts = blockProducts(gemm, block);
  for (size_t i = 0; i < products.size(); ++i) {
    if (parts[i].batch == 0)
      continue;
    if (widens)
      products[i].widened = std::make_unique<WidenedProduct>(oneDnn, scratch, parts[i], workers);
    else
      products[i].direct =
          std::make_unique<OneDnnProduct>(oneDnn, parts[i], /*accumulate=*/false, workers);
  }
}

void OneDnnGemm::run(void *const *buffers, int64_t lo, int64_t hi) {
  auto *self = static_cast<const OneDnnGemm *>(buffers[3]);
  self->runBlocks({static_cast<const char *>(buffers[0]), static_cast<const char *>(buffers[1]),
                   nullptr, static_cast<char *>(buffers[2])},
                  lo, hi);
}

void OneDnnGemm::runWithBias(void *const *buffers, int64_t lo, int64_t hi) {
  auto *self = static_cast<const OneDnnGemm *>(buffers[4]);
  self->runBlocks({static_cast<const char *>(buffers[0]), static_cast<const char *>(buffers[1]),
                   static_cast<const char *>(buffers[2]), static_cast<char *>(buffers[3])},
                  lo, hi);
}

void OneDnnGemm::runBlocks(const Buffers &buffers, int64_t lo, int64_t hi) const {
  OnOneThread guard;
  for (int64_t index = lo; index < hi; ++index)
    runBlock(buffers, index, ThreadPool::workerIndex());
}

void OneDnnGemm::runBlock(const Buffers &buffers, int64_t index, int worker) const {
  int64_t column = index % columnBlocks, row = index / columnBlocks % rowBlocks;
  int64_t batch = index / columnBlocks / rowBlocks;
  const Product &product = products[size_t(
      (batch == batchBlocks - 1) * 4 + (row == rowBlocks - 1) * 2 + (column == columnBlocks - 1))];
  batch *= block.batch, row *= block.rows, column *= block.columns;
  auto offset = [](int64_t elements, uint32_t type) {
    return elements * int64_t(elementBytes(hs_type(type)));
  };
  int64_t aStart = batch * gemm.a_stride + row * (gemm.transpose_a ? 1 : gemm.lda);
  int64_t bStart = batch * gemm.b_stride + column * (gemm.transpose_b ? gemm.ldb : 1);
  int64_t cStart = batch * gemm.c_stride + row * gemm.ldc + column;
  const char *a = buffers.a + offset(aStart, gemm.a_type);
  const char *b = buffers.b + offset(bStart, gemm.b_type);
  const char *bias = buffers.bias ? buffers.bias + offset(column, gemm.c_type) : nullptr;
  char *c = buffers.c + offset(cStart, gemm.c_type);
  if (product.direct)
    product.direct->run(worker, a, b, c, bias);
  else
    product.widened->run(worker, a, b, c, bias);
}

} // namespace halfstep::runtime

//===- WidenedProduct.cpp - 16-bit matrix products in f32 -------------------------------------===//
//
// Scratch memory of a worker: the parts of a and of b, and the sums, each packed. A last part of k
// that is shorter is filled up with zeros, which add nothing: one primitive does for all parts.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/WidenedProduct.h"

#include "runtime/Half.h"
#include "runtime/Types.h"

#include <algorithm>

namespace halfstep::runtime {

//===------------------------------------------------------------------------------------------===//
// Rows of numbers
//===------------------------------------------------------------------------------------------===//

// As in CpuKernels.h, every CPU that an artefact is for has AVX2.
#define WITH_AVX2 __attribute__((target("avx2")))

WITH_AVX2 static void widenRow(uint32_t type, const char *source, int64_t count, float *target) {
  auto *bits = reinterpret_cast<const uint16_t *>(source);
  if (type == HS_F32)
    std::copy_n(reinterpret_cast<const float *>(source), count, target);
  else if (type == HS_F16)
    for (int64_t i = 0; i < count; ++i)
      target[i] = halfToFloat(bits[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      target[i] = bfloatToFloat(bits[i]);
}

WITH_AVX2 static void narrowRow(uint32_t type, const float *source, int64_t count, char *target) {
  auto *bits = reinterpret_cast<uint16_t *>(target);
  if (type == HS_F32)
    std::copy_n(source, count, reinterpret_cast<float *>(target));
  else if (type == HS_F16)
    for (int64_t i = 0; i < count; ++i)
      bits[i] = floatToHalf(source[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      bits[i] = floatToBfloat(source[i]);
}

WITH_AVX2 static void addRow(const float *source, int64_t count, float *target) {
  for (int64_t i = 0; i < count; ++i)
    target[i] += source[i];
}

//===------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------===//

WidenedProduct::WidenedProduct(OneDnn &oneDnn, const WorkerMemory &scratch, const hs_gemm &gemm,
                               int workers)
    : scratch(scratch), gemm(gemm), part(chooseWidenedDepth(gemm)),
      a{gemm.a_type,      gemm.a_stride ? gemm.batch : 1,   gemm.a_stride,
        gemm.lda,         gemm.transpose_a ? part : gemm.m, gemm.transpose_a ? gemm.m : part,
        !gemm.transpose_a},
      b{gemm.b_type,
        gemm.b_stride ? gemm.batch : 1,
        gemm.b_stride,
        gemm.ldb,
        gemm.transpose_b ? gemm.n : part,
        gemm.transpose_b ? part : gemm.n,
        bool(gemm.transpose_b)},
      product(oneDnn, partGemm(), /*accumulate=*/true, workers) {}

hs_gemm WidenedProduct::partGemm() const {
  hs_gemm result = gemm;
  result.a_type = result.b_type = result.c_type = HS_F32;
  result.has_bias = 0;
  result.k = part;
  result.lda = a.columns, result.ldb = b.columns, result.ldc = gemm.n;
  result.a_stride = gemm.a_stride ? a.rows * a.columns : 0;
  result.b_stride = gemm.b_stride ? b.rows * b.columns : 0;
  result.c_stride = gemm.m * gemm.n;
  return result;
}

// Packs `length` steps of k from `begin` on, and zeros behind them.
void WidenedProduct::Operand::widen(const char *source, int64_t begin, int64_t length,
                                    float *target) const {
  int64_t size = int64_t(elementBytes(hs_type(type)));
  int64_t usedRows = isAlongColumns ? rows : length,
          usedColumns = isAlongColumns ? length : columns;
  source += begin * (isAlongColumns ? 1 : leading) * size;
  for (int64_t matrix = 0; matrix < batch; ++matrix)
    for (int64_t row = 0; row < rows; ++row, target += columns) {
      int64_t used = row < usedRows ? usedColumns : 0;
      widenRow(type, source + (matrix * batchStride + row * leading) * size, used, target);
      std::fill(target + used, target + columns, 0.0f);
    }
}

void WidenedProduct::run(int worker, const void *a, const void *b, void *c,
                         const void *bias) const {
  float *left = reinterpret_cast<float *>(scratch.at(worker));
  float *right = left + this->a.elements(), *sums = right + this->b.elements();
  std::fill_n(sums, gemm.batch * gemm.m * gemm.n, 0.0f);
  for (int64_t begin = 0; begin < gemm.k; begin += part) {
    int64_t length = std::min(part, gemm.k - begin);
    this->a.widen(static_cast<const char *>(a), begin, length, left);
    this->b.widen(static_cast<const char *>(b), begin, length, right);
    product.run(worker, left, right, sums);
  }
  round(sums, static_cast<char *>(c), static_cast<const char *>(bias));
}

// Rounds what is in scratch memory, once, after adding the bias.
void WidenedProduct::round(float *sums, char *c, const char *bias) const {
  int64_t size = int64_t(elementBytes(hs_type(gemm.c_type)));
  float *added = sums + gemm.batch * gemm.m * gemm.n;
  if (bias)
    widenRow(gemm.c_type, bias, gemm.n, added);
  for (int64_t matrix = 0; matrix < gemm.batch; ++matrix)
    for (int64_t row = 0; row < gemm.m; ++row, sums += gemm.n) {
      if (bias)
        addRow(added, gemm.n, sums);
      narrowRow(gemm.c_type, sums, gemm.n, c + (matrix * gemm.c_stride + row * gemm.ldc) * size);
    }
}

} // namespace halfstep::runtime

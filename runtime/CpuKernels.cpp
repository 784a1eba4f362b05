//===- CpuKernels.cpp - Copies, fills and f64 products ----------------------------------------===//
//
// The f64 product serves checks in double precision, not speed records: 16 columns of a row at a
// time in registers, no packing. That the CPU has AVX2 and FMA is a demand of every artefact.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/CpuKernels.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

namespace halfstep::runtime {

void copyBytes(void *const *buffers, int64_t lo, int64_t hi) {
  int64_t bytes = int64_t(static_cast<const hs_slice *>(buffers[2])->bytes);
  int64_t begin = lo * bytesPerUnit, end = std::min(hi * bytesPerUnit, bytes);
  std::memcpy(static_cast<char *>(buffers[0]) + begin,
              static_cast<const char *>(buffers[1]) + begin, size_t(end - begin));
}

void fillBytes(void *const *buffers, int64_t lo, int64_t hi) {
  int64_t bytes = int64_t(static_cast<const hs_slice *>(buffers[1])->bytes);
  int64_t begin = lo * bytesPerUnit, end = std::min(hi * bytesPerUnit, bytes);
  std::memset(static_cast<char *>(buffers[0]) + begin, 0, size_t(end - begin));
}

namespace {

// One row of op(a) and the whole of op(b), as base and strides of (k) and (k, n).
struct RowProduct {
  const double *a;
  int64_t aStep;
  const double *b;
  int64_t bStep, bColumn;
  int64_t k;
};

} // namespace

// `Vectors` * 4 columns of the row, from `column` on.
template <int Vectors>
__attribute__((target("avx2,fma"))) static void multiplyColumns(const RowProduct &row, double *c,
                                                                int64_t column) {
  __m256d sums[Vectors];
  for (__m256d &sum : sums)
    sum = _mm256_setzero_pd();
  for (int64_t k = 0; k < row.k; ++k) {
    __m256d a = _mm256_set1_pd(row.a[k * row.aStep]);
    const double *b = row.b + k * row.bStep + column * row.bColumn;
    for (int v = 0; v < Vectors; ++v, b += 4 * row.bColumn) {
      __m256d values = row.bColumn == 1 ? _mm256_loadu_pd(b)
                                        : _mm256_setr_pd(b[0], b[row.bColumn], b[2 * row.bColumn],
                                                         b[3 * row.bColumn]);
      sums[v] = _mm256_fmadd_pd(a, values, sums[v]);
    }
  }
  for (int v = 0; v < Vectors; ++v)
    _mm256_storeu_pd(c + column + 4 * v, sums[v]);
}

__attribute__((target("avx2,fma"))) static double multiplyColumn(const RowProduct &row,
                                                                 int64_t column) {
  double sum = 0;
  for (int64_t k = 0; k < row.k; ++k)
    sum = __builtin_fma(row.a[k * row.aStep], row.b[k * row.bStep + column * row.bColumn], sum);
  return sum;
}

static void multiplyRows(const hs_gemm &gemm, const double *a, const double *b, const double *bias,
                         double *c, int64_t lo, int64_t hi) {
  for (int64_t unit = lo; unit < hi; ++unit) {
    int64_t batch = unit / gemm.m, i = unit % gemm.m;
    RowProduct row;
    row.a = a + batch * gemm.a_stride + i * (gemm.transpose_a ? 1 : gemm.lda);
    row.aStep = gemm.transpose_a ? gemm.lda : 1;
    row.b = b + batch * gemm.b_stride;
    row.bStep = gemm.transpose_b ? 1 : gemm.ldb;
    row.bColumn = gemm.transpose_b ? gemm.ldb : 1;
    row.k = gemm.k;
    double *out = c + batch * gemm.c_stride + i * gemm.ldc;

    int64_t column = 0;
    for (; column + 16 <= gemm.n; column += 16)
      multiplyColumns<4>(row, out, column);
    for (; column + 4 <= gemm.n; column += 4)
      multiplyColumns<1>(row, out, column);
    for (; column < gemm.n; ++column)
      out[column] = multiplyColumn(row, column);
    if (bias)
      for (column = 0; column < gemm.n; ++column)
        out[column] += bias[column];
  }
}

void multiplyDoubles(void *const *buffers, int64_t lo, int64_t hi) {
  multiplyRows(*static_cast<const hs_gemm *>(buffers[3]), static_cast<const double *>(buffers[0]),
               static_cast<const double *>(buffers[1]), nullptr, static_cast<double *>(buffers[2]),
               lo, hi);
}

void multiplyDoublesWithBias(void *const *buffers, int64_t lo, int64_t hi) {
  multiplyRows(*static_cast<const hs_gemm *>(buffers[4]), static_cast<const double *>(buffers[0]),
               static_cast<const double *>(buffers[1]), static_cast<const double *>(buffers[2]),
               static_cast<double *>(buffers[3]), lo, hi);
}

} // namespace halfstep::runtime

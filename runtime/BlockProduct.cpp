//===- BlockProduct.cpp - The matrix product of a convolution's block -------------------------===//

#include "runtime/BlockProduct.h"

#include <algorithm>

namespace halfstep::runtime {

// Lanes of a sum, added up in ascending order in the end: as many as hide the addition's latency.
static constexpr int64_t lanes = 32;

template <typename T>
__attribute__((target("avx2,fma"))) static T dot(const T *a, int64_t step, const T *b, int64_t k) {
  T sums[lanes] = {};
  int64_t i = 0;
  if (step == 1)
    for (; i + lanes <= k; i += lanes)
      for (int64_t lane = 0; lane < lanes; ++lane)
        sums[lane] += a[i + lane] * b[i + lane];
  T total = 0;
  for (T sum : sums)
    total += sum;
  for (; i < k; ++i)
    total += a[i * step] * b[i];
  return total;
}

// Row by row: a row of c stays in the cache while the rows of b are added to it.
template <typename T>
__attribute__((target("avx2,fma"))) static void multiply(const hs_gemm &gemm, bool accumulate,
                                                         const T *a, const T *b, T *c) {
  int64_t row = gemm.transpose_a ? 1 : gemm.lda, step = gemm.transpose_a ? gemm.lda : 1;
  for (int64_t i = 0; i < gemm.m; ++i, a += row, c += gemm.ldc) {
    if (!accumulate)
      std::fill_n(c, gemm.n, T(0));
    if (gemm.transpose_b)
      for (int64_t j = 0; j < gemm.n; ++j)
        c[j] += dot(a, step, b + j * gemm.ldb, gemm.k);
    else
      for (int64_t k = 0; k < gemm.k; ++k)
        for (int64_t j = 0; j < gemm.n; ++j)
          c[j] += a[k * step] * b[k * gemm.ldb + j];
  }
}

// Loops do not convert.
static bool isLoop(const hs_gemm &gemm) {
  constexpr int64_t thin = 4;
  return gemm.a_type == HS_F64 ||
         (gemm.a_type == HS_F32 && std::min({gemm.m, gemm.n, gemm.k}) < thin);
}

bool BlockProduct::isSupported(const hs_gemm &gemm) {
  return isLoop(gemm) || OneDnnProduct::isSupported(gemm);
}

BlockProduct::BlockProduct(OneDnn *oneDnn, const hs_gemm &gemm, bool accumulate)
    : gemm(gemm), accumulate(accumulate) {
  if (!isLoop(gemm))
    library = std::make_unique<OneDnnProduct>(*oneDnn, gemm, accumulate, oneDnn->workers());
}

void BlockProduct::run(int worker, const void *a, const void *b, void *c) const {
  if (library)
    library->run(worker, a, b, c);
  else if (gemm.c_type == HS_F64)
    multiply(gemm, accumulate, static_cast<const double *>(a), static_cast<const double *>(b),
             static_cast<double *>(c));
  else
    multiply(gemm, accumulate, static_cast<const float *>(a), static_cast<const float *>(b),
             static_cast<float *>(c));
}

} // namespace halfstep::runtime

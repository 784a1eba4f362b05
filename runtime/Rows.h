//===- Rows.h - Rows of numbers from one type to another ----------------------------*- C++ -*-===//
//
// What convolutions and poolings are written in terms of. As in CpuKernels.h, every CPU that an
// artefact is for has AVX2, and F16C with it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_ROWS_H
#define HALFSTEP_RUNTIME_ROWS_H

#include "runtime/Half.h"
#include "runtime/step_abi.h"

#include <immintrin.h>
#include <type_traits>

namespace halfstep::runtime {

/// A function with it is inlined only into others with it.
#define WITH_AVX2 __attribute__((target("avx2,fma,f16c")))

/// `count` numbers, `step` apart, to adjacent places.
template <typename To, typename From>
WITH_AVX2 inline void convertRow(const From *from, int64_t step, int64_t count, To *to) {
  int64_t i = 0;
  if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
    if (step == 1)
      for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i))));
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>) {
    if (step == 1)
      for (; i + 8 <= count; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < count; ++i)
    if constexpr (std::is_same_v<To, From>)
      to[i] = from[i * step];
    else
      narrow(widen(from[i * step]), to[i]);
}

/// visit(Storage(), Number()): the C++ types of a float hs_type, and of what is computed with it.
template <typename Visit> auto visitTypes(uint32_t type, Visit visit) {
  switch (type) {
  case HS_F64:
    return visit(double(), double());
  case HS_F16:
    return visit(Half(), float());
  case HS_BF16:
    return visit(BFloat(), float());
  default:
    return visit(float(), float());
  }
}

} // namespace halfstep::runtime

#endif

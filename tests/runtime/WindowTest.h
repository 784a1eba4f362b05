//===- WindowTest.h - Sliding windows by their definition ---------------------------*- C++ -*-===//
#ifndef HALFSTEP_TESTS_RUNTIME_WINDOWTEST_H
#define HALFSTEP_TESTS_RUNTIME_WINDOWTEST_H

#include "EntryTest.h"

#include "runtime/Window.h"

#include <array>
#include <cmath>

namespace halfstep::runtime {

inline constexpr uint32_t allTypes[] = {HS_F32, HS_F64, HS_F16, HS_BF16};

/// Exchanges the last two dimensions: planes of `rows` rows of `columns` numbers.
inline std::vector<double> exchanged(const std::vector<double> &numbers, int64_t rows,
                                     int64_t columns) {
  std::vector<double> result(numbers.size());
  auto plane = size_t(rows * columns);
  for (size_t at = 0; at < numbers.size(); ++at) {
    size_t row = at % plane / size_t(columns), column = at % size_t(columns);
    result[at / plane * plane + column * size_t(rows) + row] = numbers[at];
  }
  return result;
}

struct Sliding {
  int64_t kernel[3], stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, front[3] = {}, behind[3] = {};
};

inline hs_window windowOf(const int64_t (&input)[3], const Sliding &sliding) {
  hs_window window{};
  for (int i = 0; i < 3; ++i) {
    window.kernel[i] = sliding.kernel[i];
    window.stride[i] = sliding.stride[i];
    window.dilation[i] = sliding.dilation[i];
    window.pad[i] = sliding.front[i];
    window.input[i] = input[i];
    int64_t extent = (sliding.kernel[i] - 1) * sliding.dilation[i] + 1;
    window.output[i] =
        (input[i] + sliding.front[i] + sliding.behind[i] - extent) / sliding.stride[i] + 1;
  }
  return window;
}

/// Calls `visit(output, point, input)` for all pairs in a plane, the input -1 in padding; `inPads`
/// tells by how much the position is outside, for each dimension.
template <typename Visit> void forEachPair(const hs_window &w, Visit visit) {
  int64_t o[3], k[3];
  int64_t output = 0;
  for (o[0] = 0; o[0] < w.output[0]; ++o[0])
    for (o[1] = 0; o[1] < w.output[1]; ++o[1])
      for (o[2] = 0; o[2] < w.output[2]; ++o[2], ++output) {
        int64_t point = 0;
        for (k[0] = 0; k[0] < w.kernel[0]; ++k[0])
          for (k[1] = 0; k[1] < w.kernel[1]; ++k[1])
            for (k[2] = 0; k[2] < w.kernel[2]; ++k[2], ++point) {
              std::array<int64_t, 3> at;
              bool isInside = true;
              for (int i = 0; i < 3; ++i) {
                at[size_t(i)] = o[i] * w.stride[i] - w.pad[i] + k[i] * w.dilation[i];
                isInside &= at[size_t(i)] >= 0 && at[size_t(i)] < w.input[i];
              }
              visit(output, point,
                    isInside ? (at[0] * w.input[1] + at[1]) * w.input[2] + at[2] : -1, at);
            }
      }
}

/// Planes of a million positions, which scratch memory does not hold in f32: images, one row, and
/// images one behind the other.
inline const hs_window largePlanes[] = {
    windowOf({1, 1100, 1000}, {{1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}}),
    windowOf({1, 1, 1200000}, {{1, 1, 4}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}}),
    windowOf({3, 700, 600}, {{2, 2, 1}, {1, 2, 2}, {1, 1, 1}, {1, 0, 0}, {0, 0, 0}}),
};

} // namespace halfstep::runtime

#endif

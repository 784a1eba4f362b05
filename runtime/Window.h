//===- Window.h - What a sliding window reads ---------------------------------------*- C++ -*-===//
//
// A point of a window meets the input in a rectangle of outputs. The walks here give a row of them
// at a time, so that what is done with a row is a plain loop.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_WINDOW_H
#define HALFSTEP_RUNTIME_WINDOW_H

#include "runtime/step_abi.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace halfstep::runtime {

inline int64_t volumeOf(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

/// Numbers from `first` to below `last`.
struct Range {
  int64_t first, last;

  bool contains(int64_t number) const { return first <= number && number < last; }
};

inline bool overlap(Range a, Range b) { return a.first < b.last && b.first < a.last; }

/// The outputs of one dimension for which the point `k` of the window lies in the input.
inline Range outputsInside(const hs_window &window, int dimension, int64_t k) {
  int64_t stride = window.stride[dimension], input = window.input[dimension];
  int64_t start = k * window.dilation[dimension] - window.pad[dimension];
  int64_t first = start < 0 ? (-start + stride - 1) / stride : 0;
  int64_t last = start < input ? (input - 1 - start) / stride + 1 : 0;
  last = std::min(last, window.output[dimension]);
  return {std::min(first, last), last};
}

/// The points of a window from `start` on that lie in [low, high).
inline Range pointsInside(const hs_window &window, int dimension, int64_t start, int64_t low,
                          int64_t high) {
  int64_t step = window.dilation[dimension];
  int64_t first = start < low ? (low - start + step - 1) / step : 0;
  int64_t last = start < high ? (high - 1 - start) / step + 1 : 0;
  last = std::min(last, window.kernel[dimension]);
  return {std::min(first, last), last};
}

/// The output of one dimension whose point `k` of the window reads `position` of x, or -1.
inline int64_t readerOf(const hs_window &window, int dimension, int64_t position, int64_t k) {
  int64_t stride = window.stride[dimension];
  int64_t start = position + window.pad[dimension] - k * window.dilation[dimension];
  bool isRead = start >= 0 && start % stride == 0 && start / stride < window.output[dimension];
  return isRead ? start / stride : -1;
}

/// By position of x and point of the window: the readers of one dimension. As many as both
/// multiplied, which a window as large as a large x makes too many.
inline std::vector<int64_t> readersOf(const hs_window &window, int dimension) {
  std::vector<int64_t> readers;
  for (int64_t position = 0; position < window.input[dimension]; ++position)
    for (int64_t k = 0; k < window.kernel[dimension]; ++k)
      readers.push_back(readerOf(window, dimension, position, k));
  return readers;
}

/// Positions of a plane of x from the first to behind the last that the outputs [begin, end) may
/// read.
inline Range positionsRead(const hs_window &window, int64_t begin, int64_t end) {
  Range range{0, 1};
  bool isOne = true; // place in all dimensions before, so that this one bounds the range too
  for (int i = 0; i < 3; ++i) {
    int64_t behind = i == 0 ? window.output[1] * window.output[2] : i == 1 ? window.output[2] : 1;
    int64_t first = begin / behind % window.output[i], last = (end - 1) / behind % window.output[i];
    int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
    int64_t low = isOne ? std::clamp<int64_t>(first * window.stride[i] - window.pad[i], 0,
                                              window.input[i] - 1)
                        : 0;
    int64_t high = isOne ? std::clamp<int64_t>(last * window.stride[i] - window.pad[i] + reach, 1,
                                               window.input[i])
                         : window.input[i];
    range = {range.first * window.input[i] + low, (range.last - 1) * window.input[i] + high};
    isOne &= window.input[i] == 1 && first == last;
  }
  return range;
}

/// What the outputs of one row read with one point of the window.
struct WindowRow {
  int64_t output; // of the row's first output, counted from where the walk began
  int64_t length; // outputs of the row
  int64_t input;  // of the output `inside.first`
  Range inside;   // outputs of the row that read the input; the others read padding
};

/// Calls `visit(WindowRow)` for the outputs [begin, end) of one plane, row by row; `k` is the point
/// of the window.
template <typename Visit>
inline void forEachRow(const hs_window &window, const int64_t (&k)[3], int64_t begin, int64_t end,
                       Visit visit) {
  int64_t width = window.output[2], height = window.output[1];
  int64_t column = begin % width, row = begin / width % height, plane = begin / width / height;
  const Range columns = outputsInside(window, 2, k[2]), rows = outputsInside(window, 1, k[1]),
              planes = outputsInside(window, 0, k[0]);
  auto position = [&](int dimension, int64_t output) {
    return output * window.stride[dimension] - window.pad[dimension] +
           k[dimension] * window.dilation[dimension];
  };
  for (int64_t output = begin; output < end;) {
    int64_t length = std::min(width - column, end - output);
    WindowRow part{output - begin, length, 0, {length, length}};
    if (rows.contains(row) && planes.contains(plane)) {
      part.inside.first = std::clamp<int64_t>(columns.first - column, 0, length);
      part.inside.last = std::clamp<int64_t>(columns.last - column, part.inside.first, length);
      part.input = (position(0, plane) * window.input[1] + position(1, row)) * window.input[2] +
                   position(2, column + part.inside.first);
    }
    visit(part);
    output += length;
    column = 0;
    if (++row == height) {
      row = 0;
      ++plane;
    }
  }
}

/// Calls `visit(k)` for every point of the window, row-major.
template <typename Visit> inline void forEachPoint(const hs_window &window, Visit visit) {
  int64_t k[3];
  for (k[0] = 0; k[0] < window.kernel[0]; ++k[0])
    for (k[1] = 0; k[1] < window.kernel[1]; ++k[1])
      for (k[2] = 0; k[2] < window.kernel[2]; ++k[2])
        visit(k);
}

} // namespace halfstep::runtime

#endif

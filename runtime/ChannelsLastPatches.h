//===- ChannelsLastPatches.h - Patches whose channels lie together ------------------*- C++ -*-===//
//
// A row of the matrix of patches is what the window reads at one output. Rows are walked by
// segments of a row of outputs, whose windows read the same rows of x.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CHANNELSLASTPATCHES_H
#define HALFSTEP_RUNTIME_CHANNELSLASTPATCHES_H

#include "runtime/Parts.h"
#include "runtime/Rows.h"
#include "runtime/Window.h"

#include <algorithm>

namespace halfstep::runtime {

/// Outputs of one row of one image: rows of the matrix of patches.
struct Segment {
  int64_t image, output[3], length;

  /// Those that begin at row `first`, none from `last` on.
  Segment(const hs_window &window, int64_t first, int64_t last) {
    int64_t at = first % volumeOf(window.output);
    image = first / volumeOf(window.output);
    output[0] = at / window.output[2] / window.output[1];
    output[1] = at / window.output[2] % window.output[1];
    output[2] = at % window.output[2];
    length = std::min(window.output[2] - output[2], last - first);
  }
};

/// The depth of a block, and what an image is made of.
struct Depth {
  int64_t firstPoint, points; // of the window
  int64_t channels;           // of each
  int64_t pixel;              // from one position of x to the next, in elements

  int64_t size() const { return points * channels; }
};

/// Adjacent points of the window and where they lie, for one segment.
struct PointRun {
  int64_t points;
  int64_t column; // of the patches
  int64_t start;  // of the run's first point at the segment's first output, in the row of x
  int64_t row;    // of x, in positions; below 0 in padding
  Range inside;   // outputs of the segment whose points all lie in the row

  PointRun(const hs_window &window, const Depth &depth, const Segment &segment, int64_t point) {
    int64_t k[3] = {point / window.kernel[2] / window.kernel[1],
                    point / window.kernel[2] % window.kernel[1], point % window.kernel[2]};
    bool areAdjacent = window.dilation[2] == 1 && depth.channels == depth.pixel;
    points = areAdjacent
                 ? std::min(window.kernel[2] - k[2], depth.firstPoint + depth.points - point)
                 : 1;
    column = (point - depth.firstPoint) * depth.channels;
    int64_t at[3];
    bool isInside = true;
    for (int i = 0; i < 3; ++i) {
      at[i] = segment.output[i] * window.stride[i] - window.pad[i] + k[i] * window.dilation[i];
      isInside &= i == 2 || (at[i] >= 0 && at[i] < window.input[i]);
    }
    start = at[2];
    row = isInside ? (at[0] * window.input[1] + at[1]) * window.input[2] : -1;
    int64_t stride = window.stride[2], room = window.input[2] - points - start;
    inside.first = std::clamp<int64_t>(start < 0 ? ceilDiv(-start, stride) : 0, 0, segment.length);
    inside.last =
        std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, inside.first, segment.length);
    if (!isInside)
      inside = {segment.length, segment.length};
  }

  /// The run's points at output `i` of the segment that lie in x.
  Range pointsInside(const hs_window &window, int64_t i) const {
    int64_t at = start + i * window.stride[2];
    if (row < 0)
      return {points, points};
    int64_t first = std::clamp<int64_t>(-at, 0, points);
    return {first, std::clamp<int64_t>(window.input[2] - at, first, points)};
  }
};

/// Rows [first, last) of the patches of `x`, which points to the first of the depth's channels.
template <typename To, typename From>
WITH_AVX2 void gatherPatches(const hs_window &window, const Depth &depth, const From *x,
                             int64_t first, int64_t last, To *patches) {
  int64_t image = volumeOf(window.input) * depth.pixel;
  while (first < last) {
    Segment segment(window, first, last);
    for (int64_t point = depth.firstPoint; point < depth.firstPoint + depth.points;) {
      PointRun run(window, depth, segment, point);
      const From *row = x + segment.image * image + run.row * depth.pixel;
      To *to = patches + run.column;
      int64_t size = run.points * depth.channels;
      for (int64_t i = 0; i < segment.length; ++i, to += depth.size()) {
        int64_t at = run.start + i * window.stride[2];
        if (run.inside.contains(i)) {
          convertRow(row + at * depth.pixel, 1, size, to);
          continue;
        }
        Range inside = run.pointsInside(window, i);
        std::fill_n(to, inside.first * depth.channels, To{});
        convertRow(row + (at + inside.first) * depth.pixel, 1,
                   (inside.last - inside.first) * depth.channels,
                   to + inside.first * depth.channels);
        std::fill(to + inside.last * depth.channels, to + size, To{});
      }
      point += run.points;
    }
    patches += segment.length * depth.size();
    first += segment.length;
  }
}

/// Adds rows [first, last) of patches to `x`, which is some positions of an image, or all of those
/// of several.
template <typename T>
WITH_AVX2 void addPatches(const hs_window &window, const Depth &depth, const T *patches,
                          int64_t first, int64_t last, Range positions, T *x) {
  int64_t image = volumeOf(window.input) * depth.pixel;
  while (first < last) {
    Segment segment(window, first, last);
    for (int64_t point = depth.firstPoint; point < depth.firstPoint + depth.points;) {
      PointRun run(window, depth, segment, point);
      const T *from = patches + run.column;
      for (int64_t i = 0; i < segment.length; ++i, from += depth.size()) {
        Range inside = run.inside.contains(i) ? Range{0, run.points} : run.pointsInside(window, i);
        int64_t at = run.row + run.start + i * window.stride[2] - positions.first;
        inside.first = std::max(inside.first, -at);
        inside.last = std::min(inside.last, positions.last - positions.first - at);
        T *to = x + segment.image * image + at * depth.pixel;
        for (int64_t j = inside.first * depth.channels; j < inside.last * depth.channels; ++j)
          to[j] += from[j];
      }
      point += run.points;
    }
    patches += segment.length * depth.size();
    first += segment.length;
  }
}

} // namespace halfstep::runtime

#endif

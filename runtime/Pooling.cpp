//===- Pooling.cpp - Maxima and means under a sliding window
//----------------------------------===//
//
// Pooling goes point by point of the window, over whole rows of outputs: loops
// that a compiler vectorises. The adjoints, whose windows add to the same
// places, go window by window. Sums are f64 and are rounded once: a window may
// be a whole image, and a running f32 sum of 70,000 equal numbers is off by
// more than 16 bits forgive.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Pooling.h"

#include "runtime/Rows.h"
#include "runtime/ThreadPool.h"
#include "runtime/Window.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace halfstep::runtime {

template <typename T>
WITH_AVX2 static void maximumPlane(const hs_window &window, const T *x, T *y) {
  int64_t outputs = volumeOf(window.output), step = window.stride[2];
  std::fill_n(y, outputs, -std::numeric_limits<T>::infinity());
  forEachPoint(window, [&](const int64_t(&k)[3]) {
    forEachRow(window, k, 0, outputs, [&](const WindowRow &row) {
      const T *from = x + row.input;
      for (int64_t i = row.inside.first; i < row.inside.last; ++i, from += step) {
        T &best = y[row.output + i];
        best = *from > best || *from != *from ? *from : best;
      }
    });
  });
}

namespace {

/// The points of the window at one output that lie in the input.
struct Window {
  const hs_window &shape;
  int64_t start[3]; // the position of the window's first point
  Range points[3];

  /// Calls `visit(index, count)` for each row of points: the index of the first
  /// in the plane, and how many follow each other `dilation` apart.
  template <typename Visit> void forEachRow(Visit visit) const {
    auto position = [&](int dimension, int64_t k) {
      return start[dimension] + k * shape.dilation[dimension];
    };
    for (int64_t i = points[0].first; i < points[0].last; ++i)
      for (int64_t j = points[1].first; j < points[1].last; ++j)
        visit((position(0, i) * shape.input[1] + position(1, j)) * shape.input[2] +
                  position(2, points[2].first),
              points[2].last - points[2].first);
  }
};

} // namespace

/// Calls `visit(window, divisor)` for every output in order; the divisor is an
/// average's.
template <typename Visit> static void forEachWindow(const hs_pool &pool, Visit visit) {
  Window at{pool.window, {}, {}};
  int64_t counts[3];
  auto move = [&](int dimension, int64_t output) {
    const hs_window &window = pool.window;
    int64_t start = output * window.stride[dimension] - window.pad[dimension];
    at.start[dimension] = start;
    at.points[dimension] = pointsInside(window, dimension, start, 0, window.input[dimension]);
    Range counted = pointsInside(window, dimension, start, -pool.counted_front[dimension],
                                 window.input[dimension] + pool.counted_behind[dimension]);
    counts[dimension] = counted.last - counted.first;
  };
  const auto &outputs = pool.window.output;
  for (int64_t plane = 0; plane < outputs[0]; ++plane) {
    move(0, plane);
    for (int64_t row = 0; row < outputs[1]; ++row) {
      move(1, row);
      for (int64_t column = 0; column < outputs[2]; ++column) {
        move(2, column);
        visit(at, std::max<int64_t>(1, counts[0] * counts[1] * counts[2]));
      }
    }
  }
}

template <typename T>
WITH_AVX2 static void averagePlane(const hs_pool &pool, const T *x, double *y) {
  const hs_window &window = pool.window;
  int64_t outputs = volumeOf(window.output), step = window.stride[2];
  std::fill_n(y, outputs, 0.0);
  forEachPoint(window, [&](const int64_t(&k)[3]) {
    forEachRow(window, k, 0, outputs, [&](const WindowRow &row) {
      const T *from = x + row.input;
      for (int64_t i = row.inside.first; i < row.inside.last; ++i, from += step)
        y[row.output + i] += *from;
    });
  });
  forEachWindow(pool, [&](const Window &, int64_t divisor) { *y++ /= double(divisor); });
}

template <typename T>
static void maximumGradientPlane(const hs_pool &pool, const T *x, const T *dy, double *dx) {
  const hs_window &window = pool.window;
  std::fill_n(dx, volumeOf(window.input), 0.0);
  forEachWindow(pool, [&](const Window &at, int64_t) {
    T best = 0;
    int64_t place = -1; // a window that lies in the padding alone has none
    at.forEachRow([&](int64_t index, int64_t count) {
      for (int64_t i = 0; i < count; ++i, index += window.dilation[2])
        if (place < 0 || x[index] > best || std::isnan(x[index])) {
          best = x[index];
          place = index;
        }
    });
    if (place >= 0)
      dx[place] += *dy;
    ++dy;
  });
}

template <typename T>
static void averageGradientPlane(const hs_pool &pool, const T *dy, double *dx) {
  const hs_window &window = pool.window;
  std::fill_n(dx, volumeOf(window.input), 0.0);
  forEachWindow(pool, [&](const Window &at, int64_t divisor) {
    double share = *dy++ / double(divisor);
    at.forEachRow([&](int64_t index, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        dx[index + i * window.dilation[2]] += share;
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Planes
//===------------------------------------------------------------------------------------------===//

Pooling::Pooling(const hs_pool &pool, WorkerMemory &scratch)
    : pool(pool), scratch(scratch), inputs(volumeOf(pool.window.input)),
      outputs(volumeOf(pool.window.output)) {
  bool isAdjoint = pool.kind == HS_POOL_MAX_GRADIENT || pool.kind == HS_POOL_AVERAGE_GRADIENT;
  bool isNarrow = pool.type == HS_F16 || pool.type == HS_BF16;
  scratch.reserve(uint64_t(isAdjoint ? inputs : outputs) * sizeof(double) +
                  (isNarrow ? uint64_t(inputs + outputs) * sizeof(float) : 0));
}

int64_t Pooling::grain() const {
  constexpr int64_t worthwhile = 16384; // reads: about 10 microseconds of one core
  return 1 + worthwhile / (outputs * volumeOf(pool.window.kernel));
}

template <typename Storage, typename Number, uint32_t Kind>
void Pooling::run(void *const *buffers, int64_t lo, int64_t hi) {
  constexpr bool isAdjoint = Kind == HS_POOL_MAX_GRADIENT || Kind == HS_POOL_AVERAGE_GRADIENT;
  constexpr int result = Kind == HS_POOL_MAX_GRADIENT ? 2 : 1;
  using Result = std::conditional_t<Kind == HS_POOL_MAX, Number,
                                    double>; // a maximum is no sum
  constexpr bool isInPlace = std::is_same_v<Storage, Result>;
  auto &self = *static_cast<const Pooling *>(buffers[result + 1]);
  int64_t inputs = self.inputs, outputs = self.outputs, resultSize = isAdjoint ? inputs : outputs;
  for (int64_t plane = lo; plane < hi; ++plane) {
    auto *stored = static_cast<Storage *>(buffers[result]) + plane * resultSize;
    Result *computed;
    if constexpr (isInPlace)
      computed = stored;
    else
      computed = reinterpret_cast<Result *>(self.scratch.at(ThreadPool::workerIndex()));
    [[maybe_unused]] auto *free = reinterpret_cast<Number *>(computed + resultSize);
    auto read = [&](int i, int64_t size) -> const Number * {
      auto *operand = static_cast<const Storage *>(buffers[i]) + plane * size;
      if constexpr (std::is_same_v<Storage, Number>) {
        return operand;
      } else {
        for (int64_t j = 0; j < size; ++j)
          free[j] = widen(operand[j]);
        return std::exchange(free, free + size);
      }
    };

    if constexpr (Kind == HS_POOL_MAX)
      maximumPlane(self.pool.window, read(0, inputs), computed);
    else if constexpr (Kind == HS_POOL_AVERAGE)
      averagePlane(self.pool, read(0, inputs), computed);
    else if constexpr (Kind == HS_POOL_MAX_GRADIENT)
      maximumGradientPlane(self.pool, read(0, inputs), read(1, outputs), computed);
    else
      averageGradientPlane(self.pool, read(0, outputs), computed);

    if constexpr (!isInPlace)
      for (int64_t j = 0; j < resultSize; ++j)
        narrow(Number(computed[j]), stored[j]);
  }
}

template <typename Storage, typename Number> hs_kernel Pooling::kernelOfKind() const {
  switch (pool.kind) {
  case HS_POOL_MAX:
    return run<Storage, Number, HS_POOL_MAX>;
  case HS_POOL_AVERAGE:
    return run<Storage, Number, HS_POOL_AVERAGE>;
  case HS_POOL_MAX_GRADIENT:
    return run<Storage, Number, HS_POOL_MAX_GRADIENT>;
  default:
    return run<Storage, Number, HS_POOL_AVERAGE_GRADIENT>;
  }
}

hs_kernel Pooling::kernel() const {
  return visitTypes(pool.type, [this](auto storage, auto number) {
    return kernelOfKind<decltype(storage), decltype(number)>();
  });
}

} // namespace halfstep::runtime

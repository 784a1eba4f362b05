//===- Pooling.cpp - Maxima and means under a sliding window ----------------------------------===//
//
// Pooling goes point by point of the window, over whole rows of outputs: loops that a compiler
// vectorises. The adjoints, whose windows add to the same places, go window by window. Sums are f64
// and are rounded once: a window may be a whole image, and a running f32 sum of 70,000 equal
// numbers is off by more than 16 bits forgive.
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

/// A stored number in the type that is computed in.
template <typename T, typename From> static inline T numberOf(From stored) {
  if constexpr (std::is_same_v<T, From>)
    return stored;
  else
    return widen(stored);
}

/// The outputs in `part`.
template <typename From, typename T>
WITH_AVX2 static void maximumPlane(const hs_window &window, const From *x, Range part, T *y) {
  int64_t step = window.stride[2];
  std::fill_n(y, part.last - part.first, -std::numeric_limits<T>::infinity());
  forEachPoint(window, [&](const int64_t(&k)[3]) {
    forEachRow(window, k, part.first, part.last, [&](const WindowRow &row) {
      const From *from = x + row.input;
      for (int64_t i = row.inside.first; i < row.inside.last; ++i, from += step) {
        T &best = y[row.output + i], read = numberOf<T>(*from);
        best = read > best || read != read ? read : best;
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

  /// From the first to behind the last of them, in the plane; none where one dimension has none.
  Range positions() const {
    Range range{0, 1};
    for (int i = 0; i < 3; ++i) {
      if (points[i].first == points[i].last)
        return {0, 0};
      range.first = range.first * shape.input[i] + position(i, points[i].first);
      range.last = (range.last - 1) * shape.input[i] + position(i, points[i].last - 1) + 1;
    }
    return range;
  }

  int64_t position(int dimension, int64_t k) const {
    return start[dimension] + k * shape.dilation[dimension];
  }

  /// Calls `visit(index, count)` for each row of points: the index of the first in the plane, and
  /// how many follow each other `dilation` apart.
  template <typename Visit> void forEachRow(Visit visit) const {
    for (int64_t i = points[0].first; i < points[0].last; ++i)
      for (int64_t j = points[1].first; j < points[1].last; ++j)
        visit((position(0, i) * shape.input[1] + position(1, j)) * shape.input[2] +
                  position(2, points[2].first),
              points[2].last - points[2].first);
  }
};

} // namespace

/// Calls `visit(window, divisor)` for every output in order; the divisor is an average's.
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

/// The outputs in `part`.
template <typename T, typename From>
WITH_AVX2 static void averagePlane(const hs_pool &pool, const From *x, Range part, double *y) {
  const hs_window &window = pool.window;
  int64_t step = window.stride[2];
  std::fill_n(y, part.last - part.first, 0.0);
  forEachPoint(window, [&](const int64_t(&k)[3]) {
    forEachRow(window, k, part.first, part.last, [&](const WindowRow &row) {
      const From *from = x + row.input;
      for (int64_t i = row.inside.first; i < row.inside.last; ++i, from += step)
        y[row.output + i] += numberOf<T>(*from);
    });
  });
  int64_t output = 0;
  forEachWindow(pool, [&](const Window &, int64_t divisor) {
    if (part.contains(output))
      y[output - part.first] /= double(divisor);
    ++output;
  });
}

/// The positions of x in `part`.
template <typename T, typename X, typename Dy>
static void maximumGradientPlane(const hs_pool &pool, const X *x, const Dy *dy, Range part,
                                 double *dx) {
  const hs_window &window = pool.window;
  std::fill_n(dx, part.last - part.first, 0.0);
  forEachWindow(pool, [&](const Window &at, int64_t) {
    T gradient = numberOf<T>(*dy++);
    if (!overlap(part, at.positions()))
      return;
    T best = 0;
    int64_t place = -1;
    at.forEachRow([&](int64_t index, int64_t count) {
      for (int64_t i = 0; i < count; ++i, index += window.dilation[2])
        if (T read = numberOf<T>(x[index]); place < 0 || read > best || std::isnan(read)) {
          best = read;
          place = index;
        }
    });
    if (part.contains(place))
      dx[place - part.first] += gradient;
  });
}

/// The positions of x in `part`.
template <typename T, typename Dy>
static void averageGradientPlane(const hs_pool &pool, const Dy *dy, Range part, double *dx) {
  const hs_window &window = pool.window;
  std::fill_n(dx, part.last - part.first, 0.0);
  forEachWindow(pool, [&](const Window &at, int64_t divisor) {
    double share = numberOf<T>(*dy++) / double(divisor);
    if (!overlap(part, at.positions()))
      return;
    at.forEachRow([&](int64_t index, int64_t count) {
      for (int64_t i = 0; i < count; ++i, index += window.dilation[2])
        if (part.contains(index))
          dx[index - part.first] += share;
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Planes
//===------------------------------------------------------------------------------------------===//

Pooling::Pooling(const hs_pool &pool, const WorkerMemory &scratch)
    : pool(pool), scratch(scratch), offsets(layOutScratch(pool)),
      inputs(volumeOf(pool.window.input)), outputs(volumeOf(pool.window.output)) {}

int64_t Pooling::grain() const {
  constexpr int64_t worthwhile = 16384; // reads: about 10 microseconds of one core
  return 1 + worthwhile / (outputs * volumeOf(pool.window.kernel));
}

template <typename Storage, typename Number, uint32_t Kind>
void Pooling::run(void *const *buffers, int64_t lo, int64_t hi) {
  constexpr bool isOfX = Kind != HS_POOL_AVERAGE_GRADIENT;
  constexpr bool isAdjoint = Kind == HS_POOL_MAX_GRADIENT || Kind == HS_POOL_AVERAGE_GRADIENT;
  constexpr int result = Kind == HS_POOL_MAX_GRADIENT ? 2 : 1;
  // A maximum is no sum.
  using Result = std::conditional_t<Kind == HS_POOL_MAX, Number, double>;
  auto &self = *static_cast<const Pooling *>(buffers[result + 1]);
  const PoolingScratch &offsets = self.offsets;
  char *scratch = offsets.end ? self.scratch.at(ThreadPool::workerIndex()) : nullptr;

  // Calls `use` with a plane of an operand, widened or as it is stored.
  auto withPlane = [&](int buffer, int64_t plane, int64_t size, bool isWidened, int64_t offset,
                       auto use) {
    auto *stored = static_cast<const Storage *>(buffers[buffer]) + plane * size;
    if constexpr (!std::is_same_v<Storage, Number>)
      if (isWidened) {
        auto *widened = reinterpret_cast<Number *>(scratch + offset);
        convertRow(stored, 1, size, widened);
        return use(const_cast<const Number *>(widened));
      }
    use(stored);
  };
  auto withX = [&](int64_t plane, auto use) {
    withPlane(0, plane, self.inputs, offsets.widensX, offsets.x, use);
  };
  auto withDy = [&](int64_t plane, auto use) {
    withPlane(isOfX, plane, self.outputs, offsets.widensDy, offsets.dy, use);
  };
  // Calls `compute` for the parts of a plane of the result.
  auto forEachPart = [&](int64_t plane, auto compute) {
    int64_t size = isAdjoint ? self.inputs : self.outputs;
    auto *stored = static_cast<Storage *>(buffers[result]) + plane * size;
    for (int64_t first = 0; first < size; first += offsets.resultBlock) {
      Range part{first, std::min(first + offsets.resultBlock, size)};
      if constexpr (std::is_same_v<Storage, Result>) {
        compute(part, stored + first);
      } else {
        auto *computed = reinterpret_cast<Result *>(scratch);
        compute(part, computed);
        for (int64_t i = part.first; i < part.last; ++i)
          narrow(Number(computed[i - first]), stored[i]);
      }
    }
  };

  for (int64_t plane = lo; plane < hi; ++plane)
    if constexpr (!isAdjoint)
      withX(plane, [&](auto *x) {
        forEachPart(plane, [&](Range part, Result *y) {
          if constexpr (Kind == HS_POOL_MAX)
            maximumPlane(self.pool.window, x, part, y);
          else
            averagePlane<Number>(self.pool, x, part, y);
        });
      });
    else
      withDy(plane, [&](auto *dy) {
        if constexpr (isOfX)
          withX(plane, [&](auto *x) {
            forEachPart(plane, [&](Range part, Result *dx) {
              maximumGradientPlane<Number>(self.pool, x, dy, part, dx);
            });
          });
        else
          forEachPart(plane, [&](Range part, Result *dx) {
            averageGradientPlane<Number>(self.pool, dy, part, dx);
          });
      });
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

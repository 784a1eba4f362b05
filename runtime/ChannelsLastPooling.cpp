//===- ChannelsLastPooling.cpp - Pooling whose channels lie together --------------------------===//

#include "runtime/ChannelsLastPooling.h"

#include "runtime/Rows.h"
#include "runtime/ThreadPool.h"
#include "runtime/Window.h"

#include <limits>

namespace halfstep::runtime {

ChannelsLastPooling::ChannelsLastPooling(const hs_pool &pool, const WorkerMemory &scratch)
    : pool(pool), scratch(scratch) {
  const hs_window &window = pool.window;
  for (int i = 0; i < 3; ++i)
    for (int64_t output = 0; output < window.output[i]; ++output) {
      int64_t start = output * window.stride[i] - window.pad[i];
      Range counted = pointsInside(window, i, start, -pool.counted_front[i],
                                   window.input[i] + pool.counted_behind[i]);
      counts[i].push_back(counted.last - counted.first);
    }
}

int64_t ChannelsLastPooling::units() const {
  return pool.batch * resultSizes()[0] * resultSizes()[1];
}

int64_t ChannelsLastPooling::grain() const {
  constexpr int64_t worthwhile = 16384; // reads: about 10 microseconds of one core
  int64_t reads = resultSizes()[2] * pool.channels * volumeOf(pool.window.kernel);
  return 1 + worthwhile / reads;
}

template <typename Storage, typename Number> class ChannelsLastPooling::Runner {
public:
  Runner(const ChannelsLastPooling &of, void *const *buffers)
      : of(of), pool(of.pool), window(of.pool.window), channels(of.pool.channels) {
    bool hasTwo = pool.kind == HS_POOL_MAX_GRADIENT;
    x = static_cast<const Storage *>(buffers[0]);
    dy = static_cast<const Storage *>(buffers[hasTwo ? 1 : 0]);
    result = static_cast<Storage *>(buffers[hasTwo ? 2 : 1]);
    if (isAdjoint(pool))
      sums = reinterpret_cast<double *>(of.scratch.at(ThreadPool::workerIndex()));
  }

  WITH_AVX2 void run(int64_t unit) const {
    const auto &sizes = of.resultSizes();
    int64_t row = unit % sizes[1], plane = unit / sizes[1] % sizes[0];
    int64_t image = unit / sizes[1] / sizes[0];
    Storage *to = result + unit * sizes[2] * channels;
    for (int64_t channel = 0; channel < channels; channel += pooledChannels) {
      int64_t count = std::min(pooledChannels, channels - channel);
      if (isAdjoint(pool))
        adjointRow(image, plane, row, channel, count, to + channel);
      else
        outputRow(image, plane, row, channel, count, to + channel);
    }
  }

private:
  const Storage *inputs(int64_t image, int64_t channel) const {
    return x + image * volumeOf(window.input) * channels + channel;
  }

  /// The points of the window at an output that lie in x.
  Range points(int dimension, int64_t output) const {
    return pointsInside(window, dimension, startOf(dimension, output), 0, window.input[dimension]);
  }
  int64_t startOf(int dimension, int64_t output) const {
    return output * window.stride[dimension] - window.pad[dimension];
  }

  double divisor(int64_t plane, int64_t row, int64_t column) const {
    int64_t count =
        of.counts[0][size_t(plane)] * of.counts[1][size_t(row)] * of.counts[2][size_t(column)];
    return double(std::max<int64_t>(1, count));
  }

  /// The first maximum under the window at one output, by channel: its number,
  /// and its point or -1.
  WITH_AVX2 void maximum(const Storage *from, const int64_t (&output)[3], int64_t count,
                         Number *best, Number *place) const {
    std::fill_n(best, count, -std::numeric_limits<Number>::infinity());
    std::fill_n(place, count, Number(-1));
    Number read[pooledChannels];
    Range inside[3] = {points(0, output[0]), points(1, output[1]), points(2, output[2])};
    for (int64_t i = inside[0].first; i < inside[0].last; ++i)
      for (int64_t j = inside[1].first; j < inside[1].last; ++j)
        for (int64_t k = inside[2].first; k < inside[2].last; ++k) {
          convertRow(from + positionOf(output, {i, j, k}) * channels, 1, count, read);
          Number point = Number((i * window.kernel[1] + j) * window.kernel[2] + k);
          for (int64_t c = 0; c < count; ++c) {
            bool isBetter = (read[c] > best[c]) | (read[c] != read[c]) | (place[c] < 0);
            best[c] = isBetter ? read[c] : best[c];
            place[c] = isBetter ? point : place[c];
          }
        }
  }

  struct Point {
    int64_t k[3];
  };
  int64_t positionOf(const int64_t (&output)[3], const Point &point) const {
    int64_t at[3];
    for (int i = 0; i < 3; ++i)
      at[i] = startOf(i, output[i]) + point.k[i] * window.dilation[i];
    return (at[0] * window.input[1] + at[1]) * window.input[2] + at[2];
  }

  /// A row of outputs.
  WITH_AVX2 void outputRow(int64_t image, int64_t plane, int64_t row, int64_t channel,
                           int64_t count, Storage *y) const {
    const Storage *from = inputs(image, channel);
    Number values[pooledChannels], places[pooledChannels];
    for (int64_t column = 0; column < window.output[2]; ++column, y += channels) {
      int64_t output[3] = {plane, row, column};
      if (pool.kind == HS_POOL_MAX)
        maximum(from, output, count, values, places);
      else
        average(from, output, count, values);
      convertRow(values, 1, count, y);
    }
  }

  WITH_AVX2 void average(const Storage *from, const int64_t (&output)[3], int64_t count,
                         Number *y) const {
    Number read[pooledChannels];
    double sum[pooledChannels] = {};
    Range inside[3] = {points(0, output[0]), points(1, output[1]), points(2, output[2])};
    for (int64_t i = inside[0].first; i < inside[0].last; ++i)
      for (int64_t j = inside[1].first; j < inside[1].last; ++j)
        for (int64_t k = inside[2].first; k < inside[2].last; ++k) {
          convertRow(from + positionOf(output, {i, j, k}) * channels, 1, count, read);
          for (int64_t c = 0; c < count; ++c)
            sum[c] += read[c];
        }
    double by = divisor(output[0], output[1], output[2]);
    for (int64_t c = 0; c < count; ++c)
      y[c] = Number(sum[c] / by);
  }

  /// A row of x: the windows that read it, in order. A window's points follow
  /// each other as its outputs do, backwards.
  WITH_AVX2 void adjointRow(int64_t image, int64_t plane, int64_t row, int64_t channel,
                            int64_t count, Storage *dx) const {
    Number rounded[pooledChannels];
    for (int64_t first = 0; first < window.input[2]; first += pooledPositions(pool)) {
      Range positions{first, std::min(first + pooledPositions(pool), window.input[2])};
      std::fill_n(sums, (positions.last - first) * count, 0.0);
      for (int64_t i = window.kernel[0]; i-- > 0;)
        for (int64_t j = window.kernel[1]; j-- > 0;) {
          int64_t outPlane = readerOf(window, 0, plane, i), outRow = readerOf(window, 1, row, j);
          if (outPlane >= 0 && outRow >= 0)
            addWindows(image, outPlane, outRow, i * window.kernel[1] + j, channel, count,
                       positions);
        }
      for (int64_t position = first; position < positions.last; ++position) {
        std::copy_n(sums + (position - first) * count, count, rounded);
        convertRow(rounded, 1, count, dx + position * channels);
      }
    }
  }

  /// The outputs of a row whose windows may read one of the positions.
  Range readersOf(Range positions) const {
    int64_t stride = window.stride[2], pad = window.pad[2];
    int64_t reach = (window.kernel[2] - 1) * window.dilation[2];
    int64_t first = positions.first + pad - reach;
    return {first > 0 ? (first + stride - 1) / stride : 0,
            std::min((positions.last - 1 + pad) / stride + 1, window.output[2])};
  }

  /// Adds what the windows of a row of outputs give to positions of a row of x, which they read
  /// with the points of row `pointRow` of the window.
  WITH_AVX2 void addWindows(int64_t image, int64_t plane, int64_t row, int64_t pointRow,
                            int64_t channel, int64_t count, Range positions) const {
    const Storage *from = dy +
                          ((image * window.output[0] + plane) * window.output[1] + row) *
                              window.output[2] * channels +
                          channel;
    Number read[pooledChannels], best[pooledChannels], place[pooledChannels];
    double share[pooledChannels];
    Range readers = readersOf(positions);
    for (int64_t column = readers.first; column < readers.last; ++column) {
      int64_t output[3] = {plane, row, column}, start = startOf(2, column);
      convertRow(from + column * channels, 1, count, read);
      bool isMaximum = pool.kind == HS_POOL_MAX_GRADIENT;
      if (isMaximum)
        maximum(inputs(image, channel), output, count, best, place);
      double by = isMaximum ? 1 : divisor(plane, row, column);
      for (int64_t c = 0; c < count; ++c)
        share[c] = read[c] / by;
      Range inside = pointsInside(window, 2, start, positions.first, positions.last);
      for (int64_t k = inside.first; k < inside.last; ++k) {
        double *to = sums + (start + k * window.dilation[2] - positions.first) * count;
        Number point = Number(pointRow * window.kernel[2] + k);
        for (int64_t c = 0; c < count; ++c)
          to[c] += !isMaximum || place[c] == point ? share[c] : 0.0;
      }
    }
  }

  const ChannelsLastPooling &of;
  const hs_pool &pool;
  const hs_window &window;
  const int64_t channels;
  const Storage *x, *dy;
  Storage *result;
  double *sums = nullptr; // of positions of a row of x
};

template <typename Storage, typename Number, bool HasTwo>
void ChannelsLastPooling::runRows(void *const *buffers, int64_t lo, int64_t hi) {
  // Behind the buffers, of which only the adjoint of a maximum has three.
  auto &self = *static_cast<const ChannelsLastPooling *>(buffers[HasTwo ? 3 : 2]);
  Runner<Storage, Number> runner(self, buffers);
  for (int64_t unit = lo; unit < hi; ++unit)
    runner.run(unit);
}

template <typename Storage, typename Number> hs_kernel ChannelsLastPooling::kernelOf() const {
  return pool.kind == HS_POOL_MAX_GRADIENT ? runRows<Storage, Number, true>
                                           : runRows<Storage, Number, false>;
}

hs_kernel ChannelsLastPooling::kernel() const {
  return visitTypes(pool.type, [this](auto storage, auto number) {
    return kernelOf<decltype(storage), decltype(number)>();
  });
}

} // namespace halfstep::runtime

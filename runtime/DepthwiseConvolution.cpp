//===- DepthwiseConvolution.cpp - Convolutions of each channel by itself ----------------------===//

#include "runtime/DepthwiseConvolution.h"

#include "runtime/Rows.h"
#include "runtime/ThreadPool.h"
#include "runtime/Window.h"

#include <algorithm>

namespace halfstep::runtime {

//===------------------------------------------------------------------------------------------===//
// Vectors of channels
//===------------------------------------------------------------------------------------------===//

namespace {

/// 32 bytes of numbers: 8 f32 or 4 f64.
template <typename Number> struct VectorOf;
template <> struct VectorOf<float> {
  typedef float Type __attribute__((vector_size(32)));
};
template <> struct VectorOf<double> {
  typedef double Type __attribute__((vector_size(32)));
};
template <typename Number> using Vector = typename VectorOf<Number>::Type;
template <typename Number> constexpr int64_t lanes = 32 / int64_t(sizeof(Number));

} // namespace

template <typename Number, typename Storage>
WITH_AVX2 static inline Vector<Number> load(const Storage *from) {
  Number numbers[lanes<Number>];
  convertRow(from, 1, lanes<Number>, numbers);
  Vector<Number> vector;
  std::memcpy(&vector, numbers, sizeof vector);
  return vector;
}

template <typename Number, typename Storage>
WITH_AVX2 static inline void store(Vector<Number> vector, Storage *to) {
  Number numbers[lanes<Number>];
  std::memcpy(numbers, &vector, sizeof vector);
  convertRow(numbers, 1, lanes<Number>, to);
}

//===------------------------------------------------------------------------------------------===//
// What is decided before
//===------------------------------------------------------------------------------------------===//

DepthwiseConvolution::DepthwiseConvolution(const hs_conv &conv, const WorkerMemory &scratch)
    : conv(conv), scratch(scratch), points(volumeOf(conv.window.kernel)),
      inputs(volumeOf(conv.window.input)), outputs(volumeOf(conv.window.output)),
      block(chooseDepthwiseBlock(conv)), offsets(layOutScratch(conv, block)) {
  if (conv.kind == HS_CONV_INPUT_GRADIENT)
    for (int i = 0; i < 3; ++i)
      readers[i] = readersOf(conv.window, i);
}

int64_t DepthwiseConvolution::units() const {
  const hs_window &window = conv.window;
  if (conv.kind == HS_CONV_FORWARD)
    return conv.batch * window.output[0] * window.output[1];
  if (conv.kind == HS_CONV_INPUT_GRADIENT)
    return conv.batch * window.input[0] * window.input[1];
  return conv.parts * block.count;
}

//===------------------------------------------------------------------------------------------===//
// Units
//===------------------------------------------------------------------------------------------===//

/// Calls `visit(vectors, channel)` for blocks of the channels [first, last), which hold at least
/// one vector; the number of a block's vectors is a type. The last one begins earlier where it
/// would not be whole: some channels are computed twice.
template <int64_t Width, typename Visit>
static void forEachChannelBlock(int64_t first, int64_t last, Visit visit) {
  int64_t channel = first;
  for (; channel + depthwiseVectors * Width <= last; channel += depthwiseVectors * Width)
    visit(std::integral_constant<int64_t, depthwiseVectors>(), channel);
  for (; channel < last; channel += Width)
    visit(std::integral_constant<int64_t, 1>(), std::min(channel, last - Width));
}

template <typename Storage, typename Number> class DepthwiseConvolution::Runner {
public:
  Runner(const DepthwiseConvolution &of, void *const *buffers)
      : of(of), conv(of.conv), window(conv.window), a(static_cast<const Storage *>(buffers[0])),
        b(static_cast<const Storage *>(buffers[1])), c(buffers[2]),
        scratch(reinterpret_cast<Number *>(of.scratch.at(ThreadPool::workerIndex()))),
        rows(reinterpret_cast<DepthwiseRow *>(scratch + of.offsets.rows)) {}

  WITH_AVX2 void run(int64_t lo, int64_t hi) {
    if (conv.kind == HS_CONV_WEIGHT_GRADIENT) {
      for (int64_t unit = lo; unit < hi; ++unit)
        weightGradient(unit);
      return;
    }
    for (int64_t i = 0; i < of.block.count; ++i) {
      useFilters(of.block.first(i), of.block.last(i, conv.groups));
      for (int64_t unit = lo; unit < hi; ++unit)
        if (conv.kind == HS_CONV_FORWARD)
          forwardRow(unit);
        else
          inputGradientRow(unit);
    }
  }

private:
  static constexpr int64_t width = lanes<Number>;

  /// Widens the filters of the channels [first, last), points first, for the rows that follow.
  WITH_AVX2 void useFilters(int64_t first, int64_t last) {
    firstChannel = first;
    channels = last - first;
    for (int64_t point = 0; point < of.points; ++point)
      for (int64_t channel = 0; channel < channels; ++channel)
        scratch[point * channels + channel] = widen(b[(first + channel) * of.points + point]);
  }

  const Number *filterOf(int64_t point, int64_t channel) const {
    return scratch + point * channels + channel - firstChannel;
  }

  int64_t positionOf(int dimension, int64_t output, int64_t k) const {
    int64_t position =
        output * window.stride[dimension] - window.pad[dimension] + k * window.dilation[dimension];
    return position < window.input[dimension] ? position : -1;
  }

  /// Finds what row number `unit` of a result of `sizes` meets in `a`, of `met` sizes; `meeting`
  /// gives the place that a position meets with point `k` of the window in a dimension, or -1.
  /// Returns how many rows it is.
  template <typename Meeting>
  int64_t findRows(int64_t unit, const int64_t (&sizes)[3], const int64_t (&met)[3],
                   Meeting meeting) const {
    int64_t row = unit % sizes[1], plane = unit / sizes[1] % sizes[0], count = 0;
    const Storage *image = a + unit / sizes[1] / sizes[0] * volumeOf(met) * conv.groups;
    for (int64_t i = 0; i < window.kernel[0]; ++i)
      for (int64_t j = 0; j < window.kernel[1]; ++j) {
        int64_t metPlane = meeting(0, plane, i), metRow = meeting(1, row, j);
        if (metPlane >= 0 && metRow >= 0)
          rows[count++] = {(i * window.kernel[1] + j) * window.kernel[2],
                           image + (metPlane * met[1] + metRow) * met[2] * conv.groups};
      }
    return count;
  }

  /// A unit is a row of outputs.
  WITH_AVX2 void forwardRow(int64_t unit) const {
    auto *y = static_cast<Storage *>(c) + unit * window.output[2] * conv.groups;
    int64_t count = findRows(unit, window.output, window.input,
                             [this](int dimension, int64_t output, int64_t k) {
                               return positionOf(dimension, output, k);
                             });
    for (int64_t output = 0; output < window.output[2]; ++output)
      forEachChannelBlock<width>(
          firstChannel, firstChannel + channels, [&](auto vectors, int64_t channel) {
            addPoints<vectors>(count, output, y + output * conv.groups, channel);
          });
  }

  template <int64_t Vectors>
  WITH_AVX2 void addPoints(int64_t count, int64_t output, Storage *y, int64_t channel) const {
    Vector<Number> sums[Vectors] = {};
    int64_t start = output * window.stride[2] - window.pad[2];
    Range inside = pointsInside(window, 2, start, 0, window.input[2]);
    for (const DepthwiseRow *row = rows; row != rows + count; ++row)
      for (int64_t k = inside.first; k < inside.last; ++k)
        addProducts<Vectors>(static_cast<const Storage *>(row->row) +
                                 (start + k * window.dilation[2]) * conv.groups + channel,
                             filterOf(row->firstPoint + k, channel), sums);
    for (int64_t i = 0; i < Vectors; ++i)
      store<Number>(sums[i], y + channel + i * width);
  }

  template <int64_t Vectors, typename Right>
  WITH_AVX2 static inline void addProducts(const Storage *left, const Right *right,
                                           Vector<Number> *sums) {
    for (int64_t i = 0; i < Vectors; ++i)
      sums[i] += load<Number>(left + i * width) * load<Number>(right + i * width);
  }

  /// A unit is a row of x.
  WITH_AVX2 void inputGradientRow(int64_t unit) const {
    auto *dx = static_cast<Storage *>(c) + unit * window.input[2] * conv.groups;
    int64_t count = findRows(
        unit, window.input, window.output, [this](int dimension, int64_t position, int64_t k) {
          return of.readers[dimension][size_t(position * window.kernel[dimension] + k)];
        });
    for (int64_t position = 0; position < window.input[2]; ++position)
      forEachChannelBlock<width>(
          firstChannel, firstChannel + channels, [&](auto vectors, int64_t channel) {
            addReaders<vectors>(count, position, dx + position * conv.groups, channel);
          });
  }

  template <int64_t Vectors>
  WITH_AVX2 void addReaders(int64_t count, int64_t position, Storage *dx, int64_t channel) const {
    Vector<Number> sums[Vectors] = {};
    const int64_t *outputs = of.readers[2].data() + position * window.kernel[2];
    for (const DepthwiseRow *row = rows; row != rows + count; ++row)
      for (int64_t k = 0; k < window.kernel[2]; ++k)
        if (outputs[k] >= 0)
          addProducts<Vectors>(static_cast<const Storage *>(row->row) + outputs[k] * conv.groups +
                                   channel,
                               filterOf(row->firstPoint + k, channel), sums);
    for (int64_t i = 0; i < Vectors; ++i)
      store<Number>(sums[i], dx + channel + i * width);
  }

  /// A unit is a partial sum of some channels.
  WITH_AVX2 void weightGradient(int64_t unit) const {
    int64_t block = unit % of.block.count, part = unit / of.block.count;
    int64_t first = of.block.first(block), last = of.block.last(block, conv.groups);
    auto *dw = static_cast<Number *>(c) + part * conv.groups * of.points;
    forEachChannelBlock<width>(first, last, [&](auto vectors, int64_t channel) {
      weightGradientBlock<vectors>(part, dw, channel);
    });
  }

  template <int64_t Vectors>
  WITH_AVX2 void weightGradientBlock(int64_t part, Number *dw, int64_t channel) const {
    constexpr int64_t together = Vectors * width;
    std::fill_n(scratch, of.points * together, Number(0));
    int64_t rows = conv.batch * window.output[0] * window.output[1];
    for (int64_t i = part * rows / conv.parts; i < (part + 1) * rows / conv.parts; ++i) {
      int64_t row = i % window.output[1], plane = i / window.output[1] % window.output[0];
      const Storage *dy = a + i * window.output[2] * conv.groups + channel;
      const Storage *x =
          b + i / window.output[1] / window.output[0] * of.inputs * conv.groups + channel;
      for (int64_t point = 0; point < of.points; ++point) {
        int64_t k = point % window.kernel[2];
        int64_t inPlane = positionOf(0, plane, point / window.kernel[2] / window.kernel[1]);
        int64_t inRow = positionOf(1, row, point / window.kernel[2] % window.kernel[1]);
        if (inPlane < 0 || inRow < 0)
          continue;
        const Range inside = outputsInside(window, 2, k);
        const Storage *read =
            x + (inPlane * window.input[1] + inRow) * window.input[2] * conv.groups;
        Vector<Number> sums[Vectors];
        std::memcpy(sums, scratch + point * together, sizeof sums);
        for (int64_t output = inside.first; output < inside.last; ++output)
          addProducts<Vectors>(
              dy + output * conv.groups,
              read + (output * window.stride[2] - window.pad[2] + k * window.dilation[2]) *
                         conv.groups,
              sums);
        std::memcpy(scratch + point * together, sums, sizeof sums);
      }
    }
    for (int64_t i = 0; i < together; ++i)
      for (int64_t point = 0; point < of.points; ++point)
        dw[(channel + i) * of.points + point] = scratch[point * together + i];
  }

  const DepthwiseConvolution &of;
  const hs_conv &conv;
  const hs_window &window;
  const Storage *a, *b;
  void *c; // the weight gradient is of the numbers' type
  Number *scratch;
  DepthwiseRow *rows;
  int64_t firstChannel = 0, channels = 0; // whose filters are in scratch memory
};

void DepthwiseConvolution::run(void *const *buffers, int64_t lo, int64_t hi) {
  auto &self = *static_cast<const DepthwiseConvolution *>(buffers[3]);
  visitTypes(self.conv.a_type, [&](auto storage, auto number) {
    Runner<decltype(storage), decltype(number)>(self, buffers).run(lo, hi);
  });
}

} // namespace halfstep::runtime

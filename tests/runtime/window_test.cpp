//===- window_test.cpp - Convolution and pooling against their definitions --------------------===//
//
// Every kind, in every type and layout, against sums in f64 over the same rounded operands; and the
// same bits on any number of threads.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/CpuBackend.h"
#include "runtime/Half.h"
#include "runtime/Window.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace halfstep::runtime;

namespace {

//===------------------------------------------------------------------------------------------===//
// Tensors and entries
//===------------------------------------------------------------------------------------------===//

const uint32_t allTypes[] = {HS_F32, HS_F64, HS_F16, HS_BF16};

/// The bytes of numbers in a type.
std::string encode(const std::vector<double> &numbers, uint32_t type) {
  std::string bytes;
  auto append = [&](auto value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  };
  for (double number : numbers)
    if (type == HS_F64)
      append(number);
    else if (type == HS_F32)
      append(float(number));
    else
      append(type == HS_F16 ? doubleToHalf(number) : doubleToBfloat(number));
  return bytes;
}

std::vector<double> decode(const std::string &bytes, uint32_t type) {
  std::vector<double> numbers;
  auto all = [&](auto value, auto convert) {
    for (size_t at = 0; at < bytes.size(); at += sizeof value) {
      std::memcpy(&value, bytes.data() + at, sizeof value);
      numbers.push_back(convert(value));
    }
  };
  if (type == HS_F64)
    all(double(), [](double value) { return value; });
  else if (type == HS_F32)
    all(float(), [](float value) { return value; });
  else if (type == HS_F16)
    all(uint16_t(), halfToFloat);
  else
    all(uint16_t(), bfloatToFloat);
  return numbers;
}

/// Numbers of the type in [-1, 1].
std::vector<double> draw(int64_t count, uint32_t type, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> numbers(static_cast<size_t>(count));
  for (double &number : numbers)
    number = uniform(random);
  return decode(encode(numbers, type), type);
}

/// Exchanges the last two dimensions: planes of `rows` rows of `columns` numbers.
std::vector<double> exchanged(const std::vector<double> &numbers, int64_t rows, int64_t columns) {
  std::vector<double> result(numbers.size());
  auto plane = size_t(rows * columns);
  for (size_t at = 0; at < numbers.size(); ++at) {
    size_t row = at % plane / size_t(columns), column = at % size_t(columns);
    result[at / plane * plane + column * size_t(rows) + row] = numbers[at];
  }
  return result;
}

/// Half a unit in the last place of 1.
double roundingOf(uint32_t type) {
  return type == HS_F64 ? 0x1p-53 : type == HS_F32 ? 0x1p-24 : type == HS_F16 ? 0x1p-11 : 0x1p-8;
}

/// Runs one entry on operands; the result's bytes.
std::string runEntry(hs_entry_kind kind, const void *detail, std::vector<std::string> operands,
                     size_t resultBytes, int threads) {
  operands.emplace_back(resultBytes, '\x7F'); // what is not written is no small number
  std::vector<hs_tensor> inputs(operands.size());
  std::vector<hs_slice> slices;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs[i].slice = {HS_BUFFER_INPUTS + i, 0, operands[i].size()};
    slices.push_back(inputs[i].slice);
  }
  hs_entry entry = {uint32_t(kind), uint32_t(slices.size()), slices.data(), detail, "entry", "", nullptr};
  hs_artefact artefact{};
  artefact.input_count = uint32_t(inputs.size());
  artefact.inputs = inputs.data();
  artefact.programs[HS_MICRO] = {1, &entry};
  CpuBackend backend("test", artefact, threads);
  for (size_t i = 0; i < operands.size(); ++i)
    backend.bindInput(i, operands[i].data());
  backend.run(HS_MICRO);
  return operands.back();
}

struct Sliding {
  int64_t kernel[3], stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, front[3] = {}, behind[3] = {};
};

hs_window windowOf(const int64_t (&input)[3], const Sliding &sliding) {
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

//===------------------------------------------------------------------------------------------===//
// Convolution
//===------------------------------------------------------------------------------------------===//

struct ConvCase {
  const char *name;
  int64_t batch, groups, inputChannels, outputChannels; // channels of a group
  int64_t input[3];
  Sliding sliding;
  int64_t parts = 3;
};

class Conv : public testing::TestWithParam<ConvCase> {
protected:
  void check(hs_conv_kind kind, const char *tensors, uint32_t type, bool channelsLast) const;

  // A sum, the sum of its terms' magnitudes, and their number.
  struct Sum {
    double value = 0, magnitude = 0, terms = 0;
    void add(double term) {
      value += term;
      magnitude += std::abs(term);
      ++terms;
    }
  };

  hs_conv describe(hs_conv_kind kind, uint32_t type, bool channelsLast) const {
    const ConvCase &c = GetParam();
    bool isPartial = kind == HS_CONV_WEIGHT_GRADIENT;
    uint32_t sums = type == HS_F64 ? HS_F64 : HS_F32;
    return {uint32_t(kind),
            type,
            type,
            isPartial ? sums : type,
            channelsLast,
            c.batch,
            c.groups,
            c.inputChannels,
            c.outputChannels,
            isPartial ? c.parts : 1,
            windowOf(c.input, c.sliding)};
  }

  /// The result of the kind for operands in the order of its slices.
  std::vector<Sum> expected(const hs_conv &conv, const std::vector<double> &a,
                            const std::vector<double> &b) const {
    int64_t inputs = volumeOf(conv.window.input), outputs = volumeOf(conv.window.output);
    int64_t points = volumeOf(conv.window.kernel);
    std::vector<Sum> result(size_t(elements(conv, conv.kind == HS_CONV_FORWARD          ? 'y'
                                                  : conv.kind == HS_CONV_INPUT_GRADIENT ? 'x'
                                                                                        : 'w')));
    for (int64_t n = 0; n < conv.batch; ++n)
      for (int64_t g = 0; g < conv.groups; ++g)
        for (int64_t o = 0; o < conv.output_channels; ++o)
          for (int64_t i = 0; i < conv.input_channels; ++i)
            forEachPair(conv.window, [&](int64_t output, int64_t point, int64_t input, auto) {
              if (input < 0)
                return;
              auto x = size_t(((n * conv.groups + g) * conv.input_channels + i) * inputs + input);
              auto y =
                  size_t(((n * conv.groups + g) * conv.output_channels + o) * outputs + output);
              auto w = size_t(((g * conv.output_channels + o) * conv.input_channels + i) * points +
                              point);
              if (conv.kind == HS_CONV_FORWARD)
                result[y].add(a[x] * b[w]);
              else if (conv.kind == HS_CONV_INPUT_GRADIENT)
                result[x].add(a[y] * b[w]);
              else
                result[w].add(a[y] * b[x]);
            });
    return result;
  }

  /// The numbers of a tensor in the layout of `conv`, or from it.
  static std::vector<double> laidOut(const hs_conv &conv, char tensor,
                                     const std::vector<double> &numbers, bool back = false) {
    if (!conv.channels_last)
      return numbers;
    const hs_window &window = conv.window;
    int64_t channels = tensor == 'w'   ? conv.input_channels
                       : tensor == 'x' ? conv.groups * conv.input_channels
                                       : conv.groups * conv.output_channels;
    int64_t positions = volumeOf(tensor == 'w'   ? window.kernel
                                 : tensor == 'x' ? window.input
                                                 : window.output);
    return back ? exchanged(numbers, positions, channels) : exchanged(numbers, channels, positions);
  }

  static int64_t elements(const hs_conv &conv, char tensor) {
    int64_t in = conv.groups * conv.input_channels, out = conv.groups * conv.output_channels;
    return tensor == 'x'   ? conv.batch * in * volumeOf(conv.window.input)
           : tensor == 'y' ? conv.batch * out * volumeOf(conv.window.output)
                           : out * conv.input_channels * volumeOf(conv.window.kernel);
  }
};

TEST_P(Conv, EveryKindTypeAndLayoutIsRightWithTheSameBitsForAnyThreads) {
  for (auto [kind, tensors] :
       {std::pair(HS_CONV_FORWARD, "xwy"), std::pair(HS_CONV_INPUT_GRADIENT, "ywx"),
        std::pair(HS_CONV_WEIGHT_GRADIENT, "yxw")})
    for (uint32_t type : allTypes)
      for (bool channelsLast : {false, true})
        check(kind, tensors, type, channelsLast);
}

void Conv::check(hs_conv_kind kind, const char *tensors, uint32_t type, bool channelsLast) const {
  SCOPED_TRACE("kind " + std::to_string(kind) + " type " + std::to_string(type) +
               (channelsLast ? " channels last" : " channels first"));
  hs_conv conv = describe(kind, type, channelsLast);
  auto a = draw(elements(conv, tensors[0]), type, 1), b = draw(elements(conv, tensors[1]), type, 2);
  std::vector<Sum> sums = expected(conv, a, b);
  size_t numberBytes = encode({0}, conv.c_type).size();
  auto run = [&](int threads) {
    return runEntry(HS_CONV, &conv,
                    {encode(laidOut(conv, tensors[0], a), conv.a_type),
                     encode(laidOut(conv, tensors[1], b), conv.b_type)},
                    sums.size() * size_t(conv.parts) * numberBytes, threads);
  };
  std::string bytes = run(1);
  std::vector<double> computed = laidOut(conv, tensors[2], decode(bytes, conv.c_type), true);
  double unit = type == HS_F64 ? 0x1p-53 : 0x1p-24; // of the sums
  for (size_t i = 0; i < sums.size(); ++i) {
    double value = 0;
    for (size_t part = 0; part < size_t(conv.parts); ++part)
      value += computed[part * sums.size() + i];
    // As for matrix products; then one rounding, of a subnormal f16 to 2^-25.
    double tolerance = 2 * std::sqrt(sums[i].terms) * unit * sums[i].magnitude +
                       roundingOf(conv.c_type) * std::abs(sums[i].value) +
                       (conv.c_type == HS_F16 ? 0x1p-25 : 0);
    ASSERT_NEAR(value, sums[i].value, tolerance) << i;
  }
  for (int threads : {2, 3})
    EXPECT_TRUE(run(threads) == bytes) << threads << " threads";
}

const ConvCase convCases[] = {
    {"pointOfOne", 1, 1, 1, 1, {1, 1, 1}, {{1, 1, 1}}},
    {"smallImages",
     37,
     1,
     5,
     6,
     {1, 4, 4},
     {{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"largeImage",
     2,
     1,
     3,
     16,
     {1, 61, 83},
     {{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"longRow", 1, 1, 2, 4, {1, 1, 20011}, {{1, 1, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 4}, {0, 0, 0}}},
    {"manyChannels",
     5,
     1,
     50,
     40,
     {1, 9, 8},
     {{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"oneImage",
     1,
     1,
     70,
     33,
     {1, 17, 15},
     {{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"deep", 2, 1, 300, 4, {1, 5, 4}, {{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"strided", 3, 1, 6, 8, {1, 15, 14}, {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"gaps", 2, 1, 4, 5, {1, 9, 9}, {{1, 2, 1}, {1, 3, 4}}},
    {"dilated", 2, 1, 4, 5, {1, 12, 13}, {{1, 3, 3}, {1, 1, 2}, {1, 2, 3}, {0, 2, 3}, {0, 1, 4}}},
    {"asymmetric", 2, 1, 4, 5, {1, 6, 7}, {{1, 2, 4}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}, {0, 0, 3}}},
    {"padsBeyondTheWindow",
     2,
     1,
     2,
     4,
     {1, 3, 3},
     {{1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 3, 4}, {0, 4, 3}}},
    {"groups", 4, 3, 5, 4, {1, 7, 6}, {{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"depthwise", 3, 9, 1, 1, {1, 40, 41}, {{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"depthwiseStrided",
     3,
     9,
     1,
     2,
     {1, 11, 12},
     {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"depthwiseChannelsLeft",
     2,
     45,
     1,
     1,
     {1, 9, 10},
     {{1, 3, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 2}, {0, 1, 1}}},
    {"depthwiseVolume",
     2,
     12,
     1,
     1,
     {4, 5, 6},
     {{2, 3, 2}, {2, 1, 1}, {1, 2, 1}, {1, 0, 1}, {0, 2, 1}}},
    {"pointwise", 2, 1, 20, 24, {1, 40, 41}, {{1, 1, 1}}},
    {"pointwiseSmall", 9, 2, 20, 24, {1, 4, 5}, {{1, 1, 1}}},
    {"pointwiseStrided", 2, 1, 8, 9, {1, 9, 9}, {{1, 1, 1}, {1, 2, 2}}},
    {"volume", 2, 1, 4, 6, {5, 6, 7}, {{2, 3, 3}, {2, 1, 2}, {1, 2, 1}, {1, 0, 1}, {0, 2, 1}}},
    {"morePartsThanBlocks", 2, 1, 4, 5, {1, 5, 5}, {{1, 3, 3}}, 7},
};

INSTANTIATE_TEST_SUITE_P(Shapes, Conv, testing::ValuesIn(convCases),
                         [](const auto &info) { return info.param.name; });

TEST(ConvBlock, LargeConvolutionsAreCutAndSmallOnesAreNot) {
  Sliding same{{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}};
  auto block = [&](hs_conv_kind kind, int64_t batch, int64_t channels, int64_t size) {
    hs_conv conv{uint32_t(kind),
                 HS_F32,
                 HS_F32,
                 HS_F32,
                 /*channels_last=*/0,
                 batch,
                 1,
                 channels,
                 channels,
                 4,
                 windowOf({1, size, size}, same)};
    return chooseConvolutionBlock(conv);
  };
  for (hs_conv_kind kind : {HS_CONV_FORWARD, HS_CONV_INPUT_GRADIENT, HS_CONV_WEIGHT_GRADIENT}) {
    ConvolutionBlock large = block(kind, 1, 64, 224);
    EXPECT_EQ(large.images, 1);
    EXPECT_LE(large.outputs * (large.channels * 9 + 64), 1 << 18);
    EXPECT_GE(large.outputs, 64);
    EXPECT_EQ(large.outputs % 16, 0);
    EXPECT_EQ(large.channels < 64, kind != HS_CONV_FORWARD);
    EXPECT_LT(block(kind, 1, 512, 14).channels, 512);
    ConvolutionBlock small = block(kind, 64, 16, 4);
    EXPECT_GT(small.images, 1);
    EXPECT_EQ(small.outputs, 16);
  }
}

TEST(ConvSum, NoAccumulatorIsOf16Bits) {
  // 70,000 products of 1 and 2^-10 are 68.36, in f16 68.375; an f16 accumulator stops at 2, where a
  // term is half a unit in the last place. Over channels, over the window, and over the batch.
  const int64_t terms = 70'000;
  const double term = 0x1p-10;
  struct Case {
    hs_conv_kind kind;
    int64_t channels, input;
  };
  for (uint32_t type : {HS_F16, HS_BF16})
    for (bool channelsLast : {false, true})
      for (Case c :
           {Case{HS_CONV_FORWARD, terms, 1}, Case{HS_CONV_FORWARD, 1, terms},
            Case{HS_CONV_INPUT_GRADIENT, terms, 1}, Case{HS_CONV_WEIGHT_GRADIENT, 1, terms}}) {
        SCOPED_TRACE("kind " + std::to_string(c.kind) + " type " + std::to_string(type) +
                     (channelsLast ? " channels last" : " channels first"));
        bool isForward = c.kind == HS_CONV_FORWARD, isPartial = c.kind == HS_CONV_WEIGHT_GRADIENT;
        hs_conv conv{uint32_t(c.kind),
                     type,
                     type,
                     isPartial ? uint32_t(HS_F32) : type,
                     channelsLast,
                     1,
                     1,
                     isForward || isPartial ? c.channels : 1,
                     isForward || isPartial ? 1 : c.channels,
                     1,
                     windowOf({1, 1, c.input}, {{1, 1, isForward ? c.input : 1}})};
        auto result = decode(runEntry(HS_CONV, &conv,
                                      {encode(std::vector<double>(size_t(terms), 1), type),
                                       encode(std::vector<double>(size_t(terms), term), type)},
                                      encode({0}, conv.c_type).size(), 2),
                             conv.c_type);
        double sum = double(terms) * term;
        EXPECT_EQ(result, decode(encode({sum}, conv.c_type), conv.c_type));
      }
}

//===------------------------------------------------------------------------------------------===//
// Pooling
//===------------------------------------------------------------------------------------------===//

struct PoolCase {
  const char *name;
  int64_t planes;
  int64_t input[3];
  Sliding sliding;
  int64_t countedFront[3] = {}, countedBehind[3] = {};
};

int64_t planesOf(const hs_pool &pool) { return pool.batch * pool.channels; }

class Pool : public testing::TestWithParam<PoolCase> {
protected:
  void check(hs_pool_kind kind, uint32_t type) const;

  hs_pool describe(hs_pool_kind kind, uint32_t type) const {
    const PoolCase &c = GetParam();
    // As many channels as divide the planes.
    int64_t batch = c.planes % 2 == 0 ? 2 : 1;
    hs_pool pool{
        uint32_t(kind), type, 0, batch, c.planes / batch, windowOf(c.input, c.sliding), {}, {}};
    std::copy_n(c.countedFront, 3, pool.counted_front);
    std::copy_n(c.countedBehind, 3, pool.counted_behind);
    return pool;
  }

  std::vector<double> expected(const hs_pool &pool, const std::vector<double> &a,
                               const std::vector<double> &b) const {
    int64_t inputs = volumeOf(pool.window.input), outputs = volumeOf(pool.window.output);
    bool isAdjoint = pool.kind >= HS_POOL_MAX_GRADIENT;
    bool isMaximum = pool.kind == HS_POOL_MAX || pool.kind == HS_POOL_MAX_GRADIENT;
    std::vector<double> result(size_t(planesOf(pool) * (isAdjoint ? inputs : outputs)), 0.0);
    for (int64_t plane = 0; plane < planesOf(pool); ++plane) {
      auto x = [&](int64_t i) { return size_t(plane * inputs + i); };
      auto y = [&](int64_t i) { return size_t(plane * outputs + i); };
      std::vector<int64_t> place(size_t(outputs), -1);
      std::vector<double> divisor(size_t(outputs), 0.0);
      forEachPair(pool.window, [&](int64_t output, int64_t, int64_t input, auto at) {
        bool counts = true;
        for (size_t i = 0; i < 3; ++i)
          counts &= at[i] >= -pool.counted_front[i] &&
                    at[i] < pool.window.input[i] + pool.counted_behind[i];
        divisor[size_t(output)] += counts;
        int64_t &best = place[size_t(output)];
        if (input >= 0 && isMaximum &&
            (best < 0 || a[x(input)] > a[x(best)] || std::isnan(a[x(input)])))
          best = input;
      });
      if (isMaximum)
        for (int64_t output = 0; output < outputs; ++output) {
          int64_t best = place[size_t(output)];
          if (!isAdjoint)
            result[y(output)] = best < 0 ? -std::numeric_limits<double>::infinity() : a[x(best)];
          else if (best >= 0)
            result[x(best)] += b[y(output)];
        }
      else
        forEachPair(pool.window, [&](int64_t output, int64_t, int64_t input, auto) {
          if (input < 0)
            return;
          if (isAdjoint)
            result[x(input)] += a[y(output)] / divisor[size_t(output)];
          else
            result[y(output)] += a[x(input)] / divisor[size_t(output)];
        });
    }
    return result;
  }
};

TEST_P(Pool, EveryKindAndTypeIsRightWithTheSameBitsForAnyThreadsAndLayout) {
  for (hs_pool_kind kind :
       {HS_POOL_MAX, HS_POOL_AVERAGE, HS_POOL_MAX_GRADIENT, HS_POOL_AVERAGE_GRADIENT})
    for (uint32_t type : allTypes)
      check(kind, type);
}

void Pool::check(hs_pool_kind kind, uint32_t type) const {
  SCOPED_TRACE("kind " + std::to_string(kind) + " type " + std::to_string(type));
  hs_pool pool = describe(kind, type);
  int64_t inputs = volumeOf(pool.window.input), outputs = volumeOf(pool.window.output);
  auto a = draw(planesOf(pool) * (kind == HS_POOL_AVERAGE_GRADIENT ? outputs : inputs), type, 1),
       b = draw(planesOf(pool) * outputs, type, 2);
  // Ties, which go to the first, in steps that 16 bits can tell apart.
  if (kind == HS_POOL_MAX || kind == HS_POOL_MAX_GRADIENT)
    for (double &number : a)
      number = std::round(number * 2);
  std::vector<double> values = expected(pool, a, b);
  auto positionsOf = [&](const std::vector<double> &numbers) {
    return int64_t(numbers.size()) / planesOf(pool);
  };
  auto run = [&](int threads, bool channelsLast) {
    hs_pool laidOut = pool;
    laidOut.channels_last = channelsLast;
    std::vector<std::string> operands;
    for (const auto &numbers : {a, b})
      operands.push_back(encode(
          channelsLast ? exchanged(numbers, pool.channels, positionsOf(numbers)) : numbers, type));
    if (kind != HS_POOL_MAX_GRADIENT)
      operands.pop_back();
    std::string bytes =
        runEntry(HS_POOL, &laidOut, operands, values.size() * encode({0}, type).size(), threads);
    return channelsLast
               ? encode(exchanged(decode(bytes, type), positionsOf(values), pool.channels), type)
               : bytes;
  };
  std::string bytes = run(1, false);
  std::vector<double> computed = decode(bytes, type);
  // Sums of up to a window of terms below 1, and one rounding.
  double terms = double(volumeOf(pool.window.kernel));
  for (size_t i = 0; i < values.size(); ++i) {
    if (kind == HS_POOL_MAX) {
      ASSERT_EQ(computed[i], values[i]) << i;
      continue;
    }
    double tolerance =
        terms * (type == HS_F64 ? 0x1p-52 : 0x1p-23) + roundingOf(type) * std::abs(values[i]);
    ASSERT_NEAR(computed[i], values[i], tolerance) << i;
  }
  for (int threads : {1, 2, 3})
    for (bool channelsLast : {false, true})
      EXPECT_TRUE(run(threads, channelsLast) == bytes)
          << threads << " threads" << (channelsLast ? ", channels last" : "");
}

const PoolCase poolCases[] = {
    {"halves", 600, {1, 8, 8}, {{1, 2, 2}, {1, 2, 2}}},
    {"overlapping", 5, {1, 9, 10}, {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"countingPads",
     5,
     {1, 9, 10},
     {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 2, 2}},
     {0, 1, 1},
     {0, 1, 1}},
    {"dilated", 4, {1, 11, 12}, {{1, 3, 2}, {1, 1, 2}, {1, 2, 3}, {0, 1, 2}, {0, 2, 1}}},
    {"dense", 4, {1, 7, 300}, {{1, 3, 5}, {1, 1, 1}, {1, 1, 1}, {0, 1, 2}, {0, 1, 2}}},
    {"whole", 70, {1, 1, 49}, {{1, 1, 49}}},
    {"volume",
     3,
     {4, 5, 6},
     {{2, 2, 3}, {2, 1, 2}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1}},
     {1, 0, 1},
     {0, 1, 0}},
};

INSTANTIATE_TEST_SUITE_P(Shapes, Pool, testing::ValuesIn(poolCases),
                         [](const auto &info) { return info.param.name; });

TEST(Pool, NotANumberIsTheMaximumAndGetsTheAdjoint) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double low = -std::numeric_limits<double>::infinity();
  Sliding pair{{1, 1, 2}, {1, 1, 2}};
  hs_pool pool{HS_POOL_MAX, HS_F32, 0, 1, 1, windowOf({1, 1, 6}, pair), {}, {}};
  std::string x = encode({3, nan, nan, 7, low, low}, HS_F32), dy = encode({1, 2, 3}, HS_F32);
  for (pool.channels_last = 0; pool.channels_last < 2; ++pool.channels_last) {
    pool.kind = HS_POOL_MAX;
    auto y = decode(runEntry(HS_POOL, &pool, {x}, 3 * sizeof(float), 1), HS_F32);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
    EXPECT_EQ(y[2], low);
    pool.kind = HS_POOL_MAX_GRADIENT;
    auto dx = decode(runEntry(HS_POOL, &pool, {x, dy}, 6 * sizeof(float), 1), HS_F32);
    EXPECT_EQ(dx, (std::vector<double>{0, 1, 2, 0, 3, 0}));
  }
}

} // namespace

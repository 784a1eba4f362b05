//===- convolution_test.cpp - Convolution against its definition ------------------------------===//
//
// Every kind, in every type and layout, against sums in f64 over the same rounded operands; and the
// same bits on any number of threads.
//
//===------------------------------------------------------------------------------------------===//

#include "WindowTest.h"

#include <cmath>

using namespace halfstep::runtime;

namespace {

const Sliding padded3x3{{1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}};

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
    {"smallImages", 37, 1, 5, 6, {1, 4, 4}, padded3x3},
    {"largeImage", 2, 1, 3, 16, {1, 61, 83}, padded3x3},
    {"longRow", 1, 1, 2, 4, {1, 1, 20011}, {{1, 1, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 4}, {0, 0, 0}}},
    {"manyChannels", 5, 1, 50, 40, {1, 9, 8}, padded3x3},
    {"oneImage", 1, 1, 70, 33, {1, 17, 15}, padded3x3},
    {"deep", 2, 1, 300, 4, {1, 5, 4}, padded3x3},
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
    {"groups", 4, 3, 5, 4, {1, 7, 6}, padded3x3},
    {"depthwise", 3, 9, 1, 1, {1, 40, 41}, padded3x3},
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
    // More output channels, filters of 16 bits, and depthwise filters than scratch memory holds.
    {"outputChannelsInBlocks", 2, 1, 3, 5000, {1, 2, 3}, {{1, 2, 2}}},
    {"pointwiseInBlocks", 1, 1, 5, 65536, {1, 1, 3}, {{1, 1, 1}}},
    {"filtersInBlocks", 1, 1, 1024, 520, {1, 1, 2}, {{1, 1, 2}}, 1},
    {"longWindow", 1, 1, 2, 3, {1, 1, 20004}, {{1, 1, 20000}}},
    {"depthwiseInBlocks", 1, 70, 1, 1, {1, 1, 8193}, {{1, 1, 8192}}},
    {"depthwiseLongWindow", 1, 9, 1, 1, {1, 2, 4100}, {{1, 2, 4097}}},
};

INSTANTIATE_TEST_SUITE_P(Shapes, Conv, testing::ValuesIn(convCases),
                         [](const auto &info) { return info.param.name; });

TEST(ConvBlock, LargeConvolutionsAreCutAndSmallOnesAreNot) {
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
                 windowOf({1, size, size}, padded3x3)};
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

TEST(ConvBlock, InputGradientsOfLargePlanesAreSummedUpInParts) {
  for (const hs_window &window : largePlanes) {
    std::vector<double> dy = drawWhole(volumeOf(window.output), 1),
                        w = drawWhole(volumeOf(window.kernel), 2);
    for (bool channelsLast : {false, true}) {
      auto run = [&](uint32_t type) {
        hs_conv conv{HS_CONV_INPUT_GRADIENT, type, type, type, channelsLast, 1, 1, 1, 1, 1, window};
        return decode(runEntry(HS_CONV, &conv, {encode(dy, type), encode(w, type)},
                               size_t(volumeOf(window.input)) * encode({0}, type).size(), 3),
                      type);
      };
      std::vector<double> expected = run(HS_F32);
      EXPECT_NE(std::count(expected.begin(), expected.end(), 0), int64_t(expected.size()));
      EXPECT_TRUE(run(HS_F16) == expected) << channelsLast;
      EXPECT_TRUE(run(HS_BF16) == expected) << channelsLast;
    }
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

} // namespace

//===- rounding_test.cpp - Stochastic rounding of compiled steps ----------===//
//
// Every rounding against the two neighbours and the bits that decide between them, and what it is
// on average: the seeds are fixed, the bounds five standard deviations.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Source.h"
#include "runtime/Half.h"
#include "runtime/Philox.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace halfstep;

namespace {
float widened(uint16_t bits, bool isF16) {
  return isF16 ? runtime::halfToFloat(bits) : runtime::bfloatToFloat(bits);
}

std::vector<float> rounded(const std::vector<float> &x, const std::vector<uint32_t> &bits,
                           bool isF16) {
  auto context = makeContext();
  std::string size = std::to_string(x.size()) + "x", half = isF16 ? "f16" : "bf16";
  Program program(*context,
                  forward({input("x", size + "f32"), input("bits", size + "i32")},
                          typed("%y = train.stochastic_cast %x, %bits to " + half,
                                {size + "f32", size + "i32"}, size + half),
                          size + half),
                  ProgramOptions::forwardOnly());
  runtime::Session &session = program.running();
  session.bindInput(0, x.data());
  session.bindInput(1, bits.data());
  session.infer();
  std::vector<float> result;
  for (uint16_t y : program.read<uint16_t>(HS_OUTPUT, "y"))
    result.push_back(widened(y, isF16));
  return result;
}

/// The largest number of the type that is at most x, by search over all of them.
float lower(float x, const std::vector<float> &numbers) {
  return *--std::upper_bound(numbers.begin(), numbers.end(), x);
}

std::vector<float> finiteNumbers(bool isF16) {
  std::vector<float> numbers;
  for (uint32_t bits = 0; bits <= 0xffff; ++bits)
    if (float number = widened(uint16_t(bits), isF16);
        std::isfinite(number) && (number != 0 || bits == 0))
      numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

class StochasticRounding : public testing::TestWithParam<bool> {};

TEST_P(StochasticRounding, TakesANeighbourByTheBits) {
  std::vector<float> numbers = finiteNumbers(GetParam()), x;
  std::vector<uint32_t> bits;
  std::mt19937 random(5);
  float largest = numbers.back();
  while (x.size() < 20000) { // all exponents: half of them out of the range of f16
    uint32_t pattern = random();
    float value;
    std::memcpy(&value, &pattern, 4);
    if (x.size() % 2) // what the type is fine enough for
      value = std::ldexp(1 + float(random() % 4096) / 4096, int(random() % 40) - 26);
    if (!(std::abs(value) < largest))
      continue;
    x.push_back(value);
    bits.push_back(random());
  }
  std::vector<float> y = rounded(x, bits, GetParam());
  for (size_t i = 0; i < x.size(); ++i) {
    float below = lower(x[i], numbers),
          above = *std::upper_bound(numbers.begin(), numbers.end(), x[i]);
    double share = (double(x[i]) - below) / (double(above) - below);
    double uniform = ((bits[i] >> 9) + 0.5) * 0x1p-23;
    if (share != 0 && std::abs(share - uniform) < 0x1p-23)
      EXPECT_TRUE(y[i] == below || y[i] == above);
    else
      ASSERT_EQ(y[i], uniform < share ? above : below) << x[i] << ", " << i;
  }
}

TEST_P(StochasticRounding, LeavesTheTypesOwnNumbersAlone) {
  std::vector<float> x = finiteNumbers(GetParam());
  for (uint32_t bits : {0u, 0xffffffffu, 0x12345678u})
    EXPECT_EQ(rounded(x, std::vector<uint32_t>(x.size(), bits), GetParam()), x);
}

/// Beyond the largest number the nearest is taken: that is infinite from half a spacing on.
TEST_P(StochasticRounding, IsToNearestAtTheEdge) {
  float largest = finiteNumbers(GetParam()).back();
  float spacing = largest - lower(std::nextafter(largest, 0.0f), finiteNumbers(GetParam()));
  std::vector<float> x = {std::nextafter(largest, 0.0f),
                          largest + spacing / 4,
                          largest + spacing / 2,
                          INFINITY,
                          -INFINITY,
                          -largest - spacing / 4,
                          NAN,
                          -0.0f};
  for (uint32_t bits : {0u, 0xffffffffu}) {
    std::vector<float> y = rounded(x, std::vector<uint32_t>(x.size(), bits), GetParam());
    EXPECT_EQ(y[0], bits == 0 ? largest : largest - spacing);
    EXPECT_EQ(y[1], largest);
    EXPECT_EQ(y[2], INFINITY);
    EXPECT_EQ(y[3], INFINITY);
    EXPECT_EQ(y[4], -INFINITY);
    EXPECT_EQ(y[5], -largest);
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_TRUE(y[7] == 0 && std::signbit(y[7]));
  }
}

/// Weights of 1 that SGD moves by 2^-14 a step, an eighth or less of what they can hold: to nearest
/// they stay, at random they move by that on average.
TEST_P(StochasticRounding, MovesWeightsByLessThanTheyCanHold) {
  constexpr size_t kSize = 8192;
  constexpr int kSteps = 16;
  double spacing = GetParam() ? 0x1p-11 : 0x1p-8; // below 1
  std::string f32 = std::to_string(kSize) + "xf32";
  for (const char *rounding : {"nearest", "stochastic"}) {
    auto context = makeContext();
    ProgramOptions options;
    options.recipe.precision = "half";
    options.recipe.halfType = GetParam() ? "fp16" : "bf16";
    options.recipe.lossScale = "none";
    options.recipe.rounding = rounding;
    options.recipe.optimizer = "sgd:lr=0.5"; // the gradient of the mean is 2^-13
    Program program(*context, forward({parameter("w", f32)}, "", f32, "%w"), options);
    runtime::Session &session = program.running();
    program.setSeed(3);
    std::vector<uint16_t> ones(kSize, GetParam() ? 0x3c00 : 0x3f80);
    session.write(*session.find(HS_PARAMETER, "w"), ones.data());
    for (int step = 0; step < kSteps; ++step) {
      session.micro();
      session.update();
    }
    double mean = 0;
    for (uint16_t w : program.read<uint16_t>(HS_PARAMETER, "w"))
      mean += widened(w, GetParam()) / kSize;
    // Each step moves a weight by one spacing with the probability p = 2^-14 / spacing.
    double p = 0x1p-14 / spacing, sigma = spacing * std::sqrt(kSteps * p * (1 - p) / kSize);
    if (std::string(rounding) == "nearest")
      EXPECT_EQ(mean, 1);
    else
      EXPECT_NEAR(mean, 1 - kSteps * 0x1p-14, 5 * sigma);
  }
}

/// Two parameters of ones that move by half of what bf16 holds below 1: each weight goes the way of
/// the bits of its place in the region, where parameters begin at multiples of 256 bytes.
TEST(RegionsOfWeights, DrawByThePlaceInTheRegion) {
  constexpr uint64_t kSeed = 0x123456789abcdef;
  constexpr uint32_t kSize = 64, kAligned = 128;
  for (bool trainsBoth : {true, false}) {
    auto context = makeContext();
    ProgramOptions options;
    options.recipe.precision = "half";
    options.recipe.halfType = "bf16";
    options.recipe.rounding = "stochastic";
    options.recipe.optimizer = "sgd:lr=0.125"; // the gradient of the mean is 2^-6
    std::string type = "64xf32";
    Program program(*context,
                    forward({parameter("a", type, trainsBoth), parameter("b", type)},
                            typed("%y = train.add %a, %b", {type, type}, type), type),
                    options);
    runtime::Session &session = program.running();
    program.setSeed(kSeed);
    for (const char *name : {"a", "b"})
      program.setParameter(name, std::vector<double>(kSize, 1));
    session.micro();
    session.update();
    for (auto [name, place] : {std::pair{"a", 0u}, {"b", trainsBoth ? kAligned : 0}}) {
      if (name == std::string("a") && !trainsBoth)
        continue;
      std::vector<uint16_t> weights = program.read<uint16_t>(HS_PARAMETER, name);
      for (uint32_t i = 0; i < kSize; ++i) {
        uint32_t bits =
            runtime::philox({place + i, 0, 0, 1u << 31}, {uint32_t(kSeed), kSeed >> 32})[0];
        EXPECT_EQ(widened(weights[i], false), bits >> 31 ? 1 - 0x1p-8f : 1) << name << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StochasticRounding, testing::Values(true, false),
                         [](auto &info) { return info.param ? "fp16" : "bf16"; });
} // namespace

//===- random_test.cpp - Random numbers of compiled steps -----------------===//
//
// Generated kernels against Philox as the runtime has it and as its authors publish it, masks
// against that element by element, and what stochastic rounding and dropout are on average: the
// seeds are fixed, the bounds five standard deviations.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "runtime/Half.h"
#include "runtime/Philox.h"
#include "runtime/Session.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace halfstep;
using runtime::philox;

namespace {
std::string tensor(const std::string &type) { return "tensor<" + type + ">"; }

template <typename T>
std::vector<T> read(runtime::Session &session, hs_role role, const char *name) {
  const hs_tensor *tensor = session.find(role, name);
  std::vector<T> values(tensor->slice.bytes / sizeof(T));
  session.read(*tensor, values.data());
  return values;
}

void start(runtime::Session &session, int64_t seed) {
  session.clear();
  const hs_artefact &tables = session.artefact();
  for (uint64_t i = 0; i < tables.tensor_count; ++i)
    if (tables.tensors[i].role == HS_HYPERPARAMETER)
      session.writeScalar(tables.tensors[i], tables.tensors[i].initial);
  if (const hs_tensor *tensor = session.find(HS_COUNTER, "seed"))
    session.write(*tensor, &seed);
}

ProgramOptions forwardOnly() {
  ProgramOptions options;
  options.recipe.loss.clear();
  return options;
}

//===----------------------------------------------------------------------===//
// Philox
//===----------------------------------------------------------------------===//

/// `train.philox` on numbers that are given.
std::vector<uint32_t> drawn(std::vector<uint32_t> elements, uint32_t micro, uint32_t iteration,
                            uint32_t stream, uint64_t seed) {
  auto context = makeContext();
  std::string type = tensor(std::to_string(elements.size()) + "xi32");
  Program program(*context,
                  "func.func @forward(%element: " + type +
                      " {train.input = \"element\"}, "
                      "%micro: tensor<f64> {train.input = \"micro\"}, "
                      "%iteration: tensor<f64> {train.input = \"iteration\"}, "
                      "%seed: tensor<i64> {train.input = \"seed\"}) -> (" +
                      type +
                      " {train.output = \"y\"}) {\n"
                      "%y = train.philox %element, %micro, %iteration, %seed {stream = " +
                      std::to_string(int32_t(stream)) + " : i32} : (" + type +
                      ", tensor<f64>, tensor<f64>, tensor<i64>) -> " + type +
                      "\nreturn %y : " + type + "\n}\n",
                  forwardOnly());
  runtime::Session &session = program.running();
  double counts[] = {double(micro), double(iteration)};
  session.bindInput(0, elements.data());
  session.bindInput(1, &counts[0]);
  session.bindInput(2, &counts[1]);
  session.bindInput(3, &seed);
  session.infer();
  return read<uint32_t>(session, HS_OUTPUT, "y");
}

/// The vectors for philox4x32-10 in kat_vectors of Random123: counter, key, first word.
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(drawn({0}, 0, 0, 0, 0), std::vector<uint32_t>{0x6627e8d5});
  EXPECT_EQ(drawn({0xffffffff}, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffffffffffff),
            std::vector<uint32_t>{0x408f276d});
  EXPECT_EQ(drawn({0x243f6a88}, 0x85a308d3, 0x13198a2e, 0x03707344, 0x299f31d0a4093822),
            std::vector<uint32_t>{0xd16cfe09});
}

TEST(Philox, IsTheRuntimesForAnyNumberOfElements) {
  std::mt19937 random(1);
  for (size_t count : {1, 7, 16, 33, 1000}) {
    std::vector<uint32_t> elements(count), expected;
    for (uint32_t &element : elements) {
      element = random();
      expected.push_back(philox({element, 3, 4000000000, 5}, {0x89abcdef, 0x01234567})[0]);
    }
    EXPECT_EQ(drawn(elements, 3, 4000000000, 5, 0x0123456789abcdef), expected);
  }
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// mean(dropout(w)): the gradient is the mask, scaled.
std::string dropoutOf(const std::string &sizes, double ratio) {
  std::string comma = sizes, f32 = tensor(sizes + "xf32"), i32 = tensor(sizes + "xi32");
  for (size_t at; (at = comma.find('x')) != std::string::npos;)
    comma.replace(at, 1, ", ");
  return "func.func @forward(%w: " + f32 + " {train.parameter = \"w\", train.trainable}) -> (" +
         f32 + " {train.output = \"y\"}) {\n%bits = train.random_bits 9 in [" + comma +
         "] : " + i32 + "\n%y = train.dropout %w, %bits {ratio = " + std::to_string(ratio) +
         " : f64} : (" + f32 + ", " + i32 + ") -> " + f32 + "\nreturn %y : " + f32 + "\n}\n";
}

class Dropping {
public:
  Dropping(const std::string &sizes, size_t count, double ratio, ProgramOptions options = {})
      : context(makeContext()), program(*context, dropoutOf(sizes, ratio), options), count(count),
        ratio(ratio), session(program.running()) {
    start(session, kSeed);
    for (size_t i = 0; i < count; ++i)
      weights.push_back(1 + float(i % 64));
    session.write(*session.find(HS_PARAMETER, "w"), weights.data());
  }

  std::vector<float> expected(uint32_t iteration, uint32_t micro) const {
    std::vector<float> gradient;
    float scale = float(1 / (1 - ratio)), one = 1 / float(count);
    for (uint32_t i = 0; i < count; ++i)
      gradient.push_back(isKept(i, iteration, micro) ? one * scale : 0);
    return gradient;
  }
  bool isKept(uint32_t element, uint32_t iteration, uint32_t micro) const {
    uint32_t bits = philox({element, micro, iteration, 9}, {uint32_t(kSeed), kSeed >> 32})[0];
    return int32_t(bits) >= ratio * 0x1p32 - 0x1p31;
  }
  std::vector<float> gradient() { return read<float>(session, HS_GRADIENT, "w"); }

  static constexpr int64_t kSeed = 0x123456789abcdef;
  std::unique_ptr<mlir::MLIRContext> context;
  Program program;
  size_t count;
  double ratio;
  std::vector<float> weights;
  runtime::Session &session;
};

/// The element's number is its place in the tensor, whatever the kernel's space.
TEST(Dropout, DropsWhatPhiloxSays) {
  for (auto &[sizes, count] : std::vector<std::pair<std::string, size_t>>{
           {"105", 105}, {"3x5x7", 105}, {"2x1x40", 80}, {"64x100", 6400}, {"1", 1}})
    for (bool fuse : {true, false}) {
      ProgramOptions options;
      options.fuse = fuse;
      Dropping drops(sizes, count, 0.375, options);
      for (uint32_t iteration = 0; iteration < 3; ++iteration) {
        double loss = drops.program.run(), expected = 0;
        EXPECT_EQ(drops.gradient(), drops.expected(iteration, 0)) << sizes << ", fuse " << fuse;
        // The loss is linear in the weights: forward and backward have one mask.
        for (size_t i = 0; i < count; ++i)
          expected += double(drops.expected(iteration, 0)[i]) * drops.weights[i];
        EXPECT_NEAR(loss, expected, 1e-5 * std::abs(expected)) << sizes;
        drops.session.update();
        drops.session.write(*drops.session.find(HS_PARAMETER, "w"), drops.weights.data());
      }
    }
}

TEST(Dropout, EveryMicroBatchHasItsOwnMask) {
  ProgramOptions options;
  options.recipe.accumulate = 3;
  Dropping drops("500", 500, 0.5, options);
  for (uint32_t iteration = 0; iteration < 2; ++iteration) {
    std::vector<float> sum(500);
    for (uint32_t micro = 0; micro < 3; ++micro) {
      drops.session.micro();
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += drops.isKept(i, iteration, micro) ? 2 / 1500.0f : 0;
    }
    std::vector<float> gradient = drops.gradient();
    for (size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(gradient[i], sum[i], 1e-9) << i;
    drops.session.update();
  }
}

TEST(Dropout, KeepsAsManyAsItSaysOnAverage) {
  constexpr size_t count = 200000;
  for (double ratio : {0.1, 0.5, 0.9}) {
    Dropping drops(std::to_string(count), count, ratio);
    drops.program.run();
    double kept = 0;
    for (float g : drops.gradient())
      kept += g != 0;
    EXPECT_NEAR(kept, count * (1 - ratio), 5 * std::sqrt(count * ratio * (1 - ratio)));
  }
}

TEST(Dropout, OfEverythingLeavesNothing) {
  Dropping drops("100", 100, 1);
  drops.weights[3] = INFINITY;
  drops.session.write(*drops.session.find(HS_PARAMETER, "w"), drops.weights.data());
  EXPECT_EQ(drops.program.run(), 0);
  EXPECT_EQ(drops.gradient(), std::vector<float>(100));
}

TEST(Dropout, IsTheIdentityInEvaluation) {
  Dropping drops("100", 100, 0.5);
  drops.session.infer();
  EXPECT_EQ(read<float>(drops.session, HS_OUTPUT, "y"), drops.weights);
  drops.session.evaluate();
  float mean = 0;
  for (float w : drops.weights)
    mean += w / 100;
  EXPECT_NEAR(read<float>(drops.session, HS_METRIC, "loss")[0], mean, 1e-4);
}

//===----------------------------------------------------------------------===//
// Stochastic rounding
//===----------------------------------------------------------------------===//

float widened(uint16_t bits, bool isF16) {
  return isF16 ? runtime::halfToFloat(bits) : runtime::bfloatToFloat(bits);
}

std::vector<float> rounded(const std::vector<float> &x, const std::vector<uint32_t> &bits,
                           bool isF16) {
  auto context = makeContext();
  std::string size = std::to_string(x.size()) + "x", half = isF16 ? "f16" : "bf16";
  std::string f32 = tensor(size + "f32"), i32 = tensor(size + "i32"), to = tensor(size + half);
  Program program(*context,
                  "func.func @forward(%x: " + f32 + " {train.input = \"x\"}, %bits: " + i32 +
                      " {train.input = \"bits\"}) -> (" + to +
                      " {train.output = \"y\"}) {\n%y = train.stochastic_cast %x, %bits to " +
                      half + " : (" + f32 + ", " + i32 + ") -> " + to + "\nreturn %y : " + to +
                      "\n}\n",
                  forwardOnly());
  runtime::Session &session = program.running();
  session.bindInput(0, x.data());
  session.bindInput(1, bits.data());
  session.infer();
  std::vector<float> result;
  for (uint16_t y : read<uint16_t>(session, HS_OUTPUT, "y"))
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
  std::string f32 = tensor(std::to_string(kSize) + "xf32");
  for (const char *rounding : {"nearest", "stochastic"}) {
    auto context = makeContext();
    ProgramOptions options;
    options.recipe.precision = "half";
    options.recipe.halfType = GetParam() ? "fp16" : "bf16";
    options.recipe.lossScale = "none";
    options.recipe.rounding = rounding;
    options.recipe.optimizer = "sgd:lr=0.5"; // the gradient of the mean is 2^-13
    Program program(*context,
                    "func.func @forward(%w: " + f32 +
                        " {train.parameter = \"w\", train.trainable}) -> (" + f32 +
                        " {train.output = \"y\"}) {\nreturn %w : " + f32 + "\n}\n",
                    options);
    runtime::Session &session = program.running();
    start(session, 3);
    std::vector<uint16_t> ones(kSize, GetParam() ? 0x3c00 : 0x3f80);
    session.write(*session.find(HS_PARAMETER, "w"), ones.data());
    for (int step = 0; step < kSteps; ++step) {
      session.micro();
      session.update();
    }
    double mean = 0;
    for (uint16_t w : read<uint16_t>(session, HS_PARAMETER, "w"))
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
    Program program(*context,
                    std::string("func.func @forward(%a: tensor<64xf32> {train.parameter = \"a\"") +
                        (trainsBoth ? ", train.trainable" : "") +
                        "}, %b: tensor<64xf32> {train.parameter = \"b\", train.trainable}) -> "
                        "(tensor<64xf32> {train.output = \"y\"}) {\n%y = train.add %a, %b : "
                        "(tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>\nreturn %y : "
                        "tensor<64xf32>\n}\n",
                    options);
    runtime::Session &session = program.running();
    start(session, kSeed);
    for (const char *name : {"a", "b"})
      program.setParameter(name, std::vector<double>(kSize, 1));
    session.micro();
    session.update();
    for (auto [name, place] : {std::pair{"a", 0u}, {"b", trainsBoth ? kAligned : 0}}) {
      if (name == std::string("a") && !trainsBoth)
        continue;
      std::vector<uint16_t> weights = read<uint16_t>(session, HS_PARAMETER, name);
      for (uint32_t i = 0; i < kSize; ++i) {
        uint32_t bits = philox({place + i, 0, 0, 1u << 31}, {uint32_t(kSeed), kSeed >> 32})[0];
        EXPECT_EQ(widened(weights[i], false), bits >> 31 ? 1 - 0x1p-8f : 1) << name << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StochasticRounding, testing::Values(true, false),
                         [](auto &info) { return info.param ? "fp16" : "bf16"; });
} // namespace

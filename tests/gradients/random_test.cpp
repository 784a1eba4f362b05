//===- random_test.cpp - Random numbers of compiled steps -----------------===//
//
// Generated kernels against Philox as the runtime has it and as its authors publish it, masks
// against that element by element, and what dropout is on average: the seeds are fixed, the bounds
// five standard deviations.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Source.h"
#include "runtime/Philox.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace halfstep;
using runtime::philox;

namespace {
//===----------------------------------------------------------------------===//
// Philox
//===----------------------------------------------------------------------===//

/// `train.philox` on numbers that are given.
std::vector<uint32_t> drawn(std::vector<uint32_t> elements, uint32_t micro, uint32_t iteration,
                            uint32_t stream, uint64_t seed) {
  auto context = makeContext();
  std::string type = std::to_string(elements.size()) + "xi32";
  Program program(*context,
                  forward({input("element", type), input("micro", "f64"), input("iteration", "f64"),
                           input("seed", "i64")},
                          typed("%y = train.philox %element, %micro, %iteration, %seed {stream = " +
                                    std::to_string(int32_t(stream)) + " : i32}",
                                {type, "f64", "f64", "i64"}, type),
                          type),
                  ProgramOptions::forwardOnly());
  runtime::Session &session = program.running();
  double counts[] = {double(micro), double(iteration)};
  session.bindInput(0, elements.data());
  session.bindInput(1, &counts[0]);
  session.bindInput(2, &counts[1]);
  session.bindInput(3, &seed);
  session.infer();
  return program.read<uint32_t>(HS_OUTPUT, "y");
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
  std::string comma = sizes, f32 = sizes + "xf32", i32 = sizes + "xi32";
  for (size_t at; (at = comma.find('x')) != std::string::npos;)
    comma.replace(at, 1, ", ");
  return forward(
      {parameter("w", f32)},
      "%bits = train.random_bits 9 in [" + comma + "] : " + tensor(i32) + "\n" +
          typed("%y = train.dropout %w, %bits {ratio = " + std::to_string(ratio) + " : f64}",
                {f32, i32}, f32),
      f32);
}

class Dropping {
public:
  Dropping(const std::string &sizes, size_t count, double ratio, ProgramOptions options = {})
      : context(makeContext()), program(*context, dropoutOf(sizes, ratio), options), count(count),
        ratio(ratio), session(program.running()) {
    program.setSeed(kSeed);
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
  std::vector<float> gradient() { return program.read<float>(HS_GRADIENT, "w"); }

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
  EXPECT_EQ(drops.program.read<float>(HS_OUTPUT, "y"), drops.weights);
  drops.session.evaluate();
  float mean = 0;
  for (float w : drops.weights)
    mean += w / 100;
  EXPECT_NEAR(drops.program.read<float>(HS_METRIC, "loss")[0], mean, 1e-4);
}
} // namespace

//===- MathTest.cpp - how accurate the elementary functions of f32 are ----------------------===//
//
// Swept over all of f32, one number in two thousand, special values included; the error is in
// units in the last place of the exact result.
//
//===---------------------------------------------------------------------------------------===//

#include "Harness.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace halfstep::tests;

static float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Numbers from all over f32: every `step`-th, and the special ones.
static std::vector<float> sweep(uint64_t step) {
  std::vector<float> numbers = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN};
  for (uint32_t bits : {1u, 0x007fffffu, 0x00800000u, 0x7f7fffffu, 0x3f7fffffu, 0x3f800001u})
    for (uint32_t sign : {0u, 0x80000000u})
      numbers.push_back(fromBits(bits | sign));
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += step)
    numbers.push_back(fromBits(bits));
  return numbers;
}

/// The distance of `got` from the exact result, in units in the last place of the latter.
static double unitsInTheLastPlace(float got, long double exact) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  float nearest = exact;
  if (std::isinf(nearest) || std::isinf(got))
    return nearest == got ? 0 : INFINITY;
  if (got == 0 && nearest == 0)
    return std::signbit(got) == std::signbit(nearest) ? 0 : INFINITY;
  int exponent = std::max(std::ilogb(nearest), -126);
  return std::abs(double(got - exact)) / std::ldexp(1.0, exponent - 23);
}

struct Function {
  const char *name;
  std::function<long double(long double)> exact;
  double bound; ///< measured, and rounded up
};

static void PrintTo(const Function &f, std::ostream *os) { *os << f.name; }

class MathTest : public testing::TestWithParam<Function> {};

TEST_P(MathTest, StaysWithinItsBound) {
  std::vector<float> x = sweep(2003), y(x.size());
  std::string n = std::to_string(x.size());
  Library library("kernel.group @f [" + n + "](%x: f32[1]) -> (f32[1]) {\n %y = math." +
                  GetParam().name + " %x : f32\n kernel.yield %y : f32\n}");
  library["f"].run({x.data(), y.data()});
  double worst = 0;
  float at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = unitsInTheLastPlace(y[i], GetParam().exact(x[i]));
    if (error > worst) {
      worst = error;
      at = x[i];
    }
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LE(worst, GetParam().bound) << "at " << at;
}

/// Beyond 2^50 the sine and cosine are NaN by definition.
static long double ofAngle(long double (*function)(long double), long double x) {
  return std::abs(x) < 0x1p50L ? function(x) : NAN;
}

INSTANTIATE_TEST_SUITE_P(
    Functions, MathTest,
    testing::Values(Function{"exp", expl, 0.9}, Function{"log", logl, 0.9},
                    Function{"tanh", tanhl, 1.4}, Function{"erf", erfl, 1.1},
                    Function{"sin", [](long double x) { return ofAngle(sinl, x); }, 0.6},
                    Function{"cos", [](long double x) { return ofAngle(cosl, x); }, 0.6},
                    Function{"sqrt", sqrtl, 0.5}),
    [](const testing::TestParamInfo<Function> &info) { return info.param.name; });

TEST(MathTest, Power) {
  // Every pair of some bases and exponents, then bases all over f32 with exponents that give
  // results in range.
  std::vector<float> x, y, special = sweep(uint64_t(1) << 26);
  for (float v : {0.5f, 2.0f, 3.0f, -2.0f, -3.0f, 2.5f, 0.1f, 16777216.0f, 16777217.0f})
    special.push_back(v);
  for (float base : special)
    for (float exponent : special) {
      x.push_back(base);
      y.push_back(exponent);
    }
  for (float base : sweep(20011))
    for (float exponent : {0.3f, -1.7f, 2.0f, 3.0f, 11.0f}) {
      x.push_back(base);
      y.push_back(exponent);
    }
  std::vector<float> z(x.size());
  Library library("kernel.group @f [" + std::to_string(x.size()) +
                  "](%x: f32[1], %y: f32[1]) -> (f32[1]) {\n %z = math.powf %x, %y : f32\n "
                  "kernel.yield %z : f32\n}");
  library["f"].run({x.data(), y.data(), z.data()});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(unitsInTheLastPlace(z[i], powl(x[i], y[i])), 0.6)
        << x[i] << " to the power of " << y[i] << " is not " << z[i];
}

TEST(MathTest, ExtremesOfNaN) {
  std::vector<float> x = {1, NAN, 2, NAN, -0.0f, 0}, y = {2, 1, NAN, NAN, 0, -0.0f}, a(6), b(6),
                     c(6);
  Library library(R"(
kernel.group @f [6](%x: f32[1], %y: f32[1]) -> (f32[1], f32[1], f32[1]) {
  %zero = arith.constant 0.0 : f32
  %max = arith.maximumf %x, %y : f32
  %min = arith.minimumf %x, %y : f32
  %relu = arith.maximumf %x, %zero : f32
  kernel.yield %max, %min, %relu : f32, f32, f32
})");
  library["f"].run({x.data(), y.data(), a.data(), b.data(), c.data()});
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ(b[0], 1);
  for (int i : {1, 2, 3}) {
    EXPECT_TRUE(std::isnan(a[i])) << i;
    EXPECT_TRUE(std::isnan(b[i])) << i;
    EXPECT_EQ(std::isnan(c[i]), std::isnan(x[i])) << i;
  }
}

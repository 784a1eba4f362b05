// Every f16 and bf16, and the doubles around every rounding boundary, against the compiler's types.

#include "runtime/Half.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace halfstep::runtime;

namespace {

uint16_t compilerHalf(double value) { return bitCast<uint16_t>(_Float16(value)); }
uint16_t compilerHalf(float value) { return bitCast<uint16_t>(_Float16(value)); }

TEST(Half, WideningIsExact) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float expected = float(bitCast<_Float16>(uint16_t(bits)));
    float actual = halfToFloat(uint16_t(bits));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(actual)) << bits;
    else
      EXPECT_EQ(bitCast<uint32_t>(expected), bitCast<uint32_t>(actual)) << bits;
  }
}

TEST(Half, NarrowingInvertsWidening) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float half = halfToFloat(uint16_t(bits)), bfloat = bfloatToFloat(uint16_t(bits));
    if (!std::isnan(half)) {
      EXPECT_EQ(bits, floatToHalf(half));
      EXPECT_EQ(bits, doubleToHalf(half));
    }
    if (!std::isnan(bfloat)) {
      EXPECT_EQ(bits, floatToBfloat(bfloat));
      EXPECT_EQ(bits, doubleToBfloat(bfloat));
    }
  }
}

// The midpoint of every two neighbours and what is just beside it, in f32 and in f64: a double
// beside a midpoint is rounded wrongly by whoever goes through f32.
TEST(Half, RoundsToNearestEvenOnce) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    double low = halfToFloat(uint16_t(bits)), high = halfToFloat(uint16_t(bits + 1));
    double middle = (low + high) / 2;
    for (double value : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9)})
      for (double sign : {1.0, -1.0})
        ASSERT_EQ(compilerHalf(sign * value), doubleToHalf(sign * value)) << value;
    float single = float(middle);
    for (float value : {single, std::nextafter(single, 0.f), std::nextafter(single, 1e9f)})
      ASSERT_EQ(compilerHalf(value), floatToHalf(value)) << value;
  }
}

TEST(Half, BfloatRoundsToNearestEvenOnce) {
  for (uint32_t bits = 0; bits < 0x7F7F; ++bits) {
    double low = bfloatToFloat(uint16_t(bits)), high = bfloatToFloat(uint16_t(bits + 1));
    double middle = (low + high) / 2; // an f32 number: f32 has 16 more bits
    uint32_t even = bits + (bits & 1);
    ASSERT_EQ(even, floatToBfloat(float(middle)));
    ASSERT_EQ(even, doubleToBfloat(middle));
    ASSERT_EQ(bits, doubleToBfloat(std::nextafter(middle, 0.0)));
    ASSERT_EQ(bits + 1, doubleToBfloat(std::nextafter(middle, 1e300)));
  }
}

TEST(Half, EdgesOfTheRange) {
  EXPECT_EQ(0x7BFF, floatToHalf(65519.996f));
  EXPECT_EQ(0x7C00, floatToHalf(65520.f));
  EXPECT_EQ(0xFC00, floatToHalf(-INFINITY));
  EXPECT_EQ(0x7C00, doubleToHalf(1e300));
  EXPECT_EQ(0x7F80, doubleToBfloat(1e300));
  EXPECT_EQ(0x0000, doubleToHalf(1e-300));
  EXPECT_EQ(0x8000, doubleToHalf(-1e-300));
  EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(NAN))));
  EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(bitCast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(halfToFloat(doubleToHalf(double(NAN)))));
}

TEST(Half, RandomFloatsAgreeWithTheCompiler) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000000; ++i) {
    float value = bitCast<float>(uint32_t(random()));
    if (!std::isnan(value)) {
      ASSERT_EQ(compilerHalf(value), floatToHalf(value)) << value;
    }
  }
}

} // namespace

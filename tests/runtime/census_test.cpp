//===- census_test.cpp - Which kinds of numbers a tensor holds --------------------------------===//

#include "runtime/Census.h"

#include "runtime/step_abi.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace halfstep::runtime;

namespace {

template <typename T> Census of(uint32_t type, std::vector<T> values) {
  return takeCensus(type, values.data(), values.size() * sizeof(T));
}

void expect(const Census &census, uint64_t elements, uint64_t nonFinite, uint64_t zeros,
            uint64_t subnormals, uint64_t saturated, double largest) {
  EXPECT_EQ(census.elements, elements);
  EXPECT_EQ(census.nonFinite, nonFinite);
  EXPECT_EQ(census.zeros, zeros);
  EXPECT_EQ(census.subnormals, subnormals);
  EXPECT_EQ(census.saturated, saturated);
  EXPECT_EQ(census.largest, largest);
}

// Bit patterns: IEEE 754-2019, binary16.
TEST(Census, OfF16) {
  // 0, -0; 2^-24 and the largest subnormal; 2^-14, the smallest normal; -65504 and its neighbour;
  // infinity, NaN.
  expect(of<uint16_t>(HS_F16, {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0xFBFF, 0x7BFE, 0x7C00,
                               0x7E01}),
         9, 2, 2, 2, 1, 65504);
}

TEST(Census, OfBf16) {
  expect(of<uint16_t>(HS_BF16, {0x0000, 0x0001, 0x807F, 0x0080, 0x7F7F, 0x7F7E, 0xFF80, 0x7FC0,
                                0x3F80}),
         9, 2, 1, 2, 1, 0x1.FEp127);
}

TEST(Census, OfWideTypes) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  expect(of<float>(HS_F32, {0, F::denorm_min(), F::min(), -F::max(), NAN, 2}), 6, 1, 1, 1, 1,
         F::max());
  expect(of<double>(HS_F64, {-0.0, -D::denorm_min(), D::min(), D::max(), INFINITY}), 5, 1, 1, 1, 1,
         D::max());
}

TEST(Census, OfWhatIsNoFloat) {
  expect(of<int64_t>(HS_I64, {1, 0}), 0, 0, 0, 0, 0, 0);
  expect(takeCensus(HS_F16, nullptr, 0), 0, 0, 0, 0, 0, 0);
}

TEST(Census, AddsUp) {
  Census sum = of<uint16_t>(HS_F16, {0x0001, 0x7C00});
  sum += of<uint16_t>(HS_F16, {0x0000, 0x7BFF, 0x3C00});
  expect(sum, 5, 1, 1, 1, 1, 65504);
}

} // namespace

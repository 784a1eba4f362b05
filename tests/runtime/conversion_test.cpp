//===- conversion_test.cpp - From what files hold to what steps read --------------------------===//

#include "runtime/Conversion.h"
#include "runtime/Half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

using namespace halfstep::runtime;

namespace {

/// Converts one value, from a misaligned address to a misaligned address. False: out of range.
template <typename To, typename From>
bool convertOne(NpyType from, hs_type to, From value, To &result) {
  char source[sizeof(From) + 1], target[sizeof(To) + 1];
  std::memcpy(source + 1, &value, sizeof value);
  size_t converted = findConversion(from, to)(source + 1, target + 1, 1);
  std::memcpy(&result, target + 1, sizeof result);
  return converted == 1;
}

template <typename To, typename From>
void expectConverted(NpyType from, hs_type to, From value, To expected) {
  To result{};
  EXPECT_TRUE(convertOne(from, to, value, result)) << name(from) << " to " << to;
  EXPECT_EQ(result, expected) << name(from) << " to " << to;
}

TEST(Conversion, RoundsFloatsOnce) {
  expectConverted(NpyType::F64, HS_F32, 0.1, 0.1f);
  expectConverted(NpyType::F64, HS_F32, 1e300, std::numeric_limits<float>::infinity());
  expectConverted(NpyType::F32, HS_F64, 0.1f, double(0.1f));
  expectConverted(NpyType::F16, HS_F32, uint16_t(0x3555), 0.333251953125f);
  expectConverted(NpyType::F16, HS_F64, uint16_t(1), 0x1p-24);
  expectConverted(NpyType::F32, HS_F16, 65520.f, uint16_t(0x7C00));
  // Just above the middle of 1 and the next f16: f32 in between would round it down to the middle.
  expectConverted(NpyType::F64, HS_F16, 1 + 0x1p-11 + 0x1p-40, uint16_t(0x3C01));
  expectConverted(NpyType::F64, HS_BF16, 1 + 0x1p-8 + 0x1p-40, uint16_t(0x3F81));
  expectConverted(NpyType::F16, HS_BF16, uint16_t(0x3C00), uint16_t(0x3F80));
}

TEST(Conversion, TakesIntegersAsFloats) {
  expectConverted(NpyType::U8, HS_F32, uint8_t(255), 255.f);
  expectConverted(NpyType::U8, HS_F16, uint8_t(255), uint16_t(0x5BF8));
  expectConverted(NpyType::I16, HS_BF16, int16_t(-2), uint16_t(0xC000));
  expectConverted(NpyType::I64, HS_F32, int64_t{16777217}, 16777216.f);
  expectConverted(NpyType::I64, HS_F64, int64_t{-1}, -1.0);
  expectConverted(NpyType::Bool, HS_F32, uint8_t(7), 1.f);
}

TEST(Conversion, ChecksTheRangeOfIntegers) {
  expectConverted(NpyType::I64, HS_I32, int64_t{INT32_MAX}, INT32_MAX);
  expectConverted(NpyType::I64, HS_I32, int64_t{INT32_MIN}, INT32_MIN);
  expectConverted(NpyType::I16, HS_I64, int16_t(-5), int64_t{-5});
  expectConverted(NpyType::U8, HS_I64, uint8_t(200), int64_t{200});
  expectConverted(NpyType::Bool, HS_I32, uint8_t(2), 1);

  int32_t wide;
  EXPECT_FALSE(convertOne(NpyType::I64, HS_I32, int64_t{INT32_MAX} + 1, wide));
  EXPECT_FALSE(convertOne(NpyType::I64, HS_I32, INT64_MIN, wide));
  uint8_t byte;
  EXPECT_FALSE(convertOne(NpyType::I8, HS_U8, int8_t(-1), byte));
  EXPECT_FALSE(convertOne(NpyType::I16, HS_U8, int16_t(256), byte));
  int8_t narrow;
  EXPECT_FALSE(convertOne(NpyType::U8, HS_I8, uint8_t(128), narrow));

  int64_t values[] = {1, 2, 1000, 3};
  char target[4];
  EXPECT_EQ(findConversion(NpyType::I64, HS_I8)(reinterpret_cast<char *>(values), target, 4), 2u);
}

TEST(Conversion, RefusesWhatLosesMeaning) {
  for (NpyType from : {NpyType::F16, NpyType::F32, NpyType::F64})
    for (hs_type to : {HS_BOOL, HS_I8, HS_U8, HS_I32, HS_I64})
      EXPECT_EQ(findConversion(from, to), nullptr) << name(from) << " to " << to;
  for (NpyType from : {NpyType::I8, NpyType::U8, NpyType::I16, NpyType::I32, NpyType::I64})
    EXPECT_EQ(findConversion(from, HS_BOOL), nullptr) << name(from);
  for (int from = 0; from <= int(NpyType::I64); ++from)
    for (hs_type to : {HS_F32, HS_F64, HS_F16, HS_BF16})
      EXPECT_NE(findConversion(NpyType(from), to), nullptr);
}

TEST(Conversion, ABoolIsZeroOrOne) {
  expectConverted(NpyType::Bool, HS_BOOL, uint8_t(255), uint8_t(1));
  expectConverted(NpyType::Bool, HS_BOOL, uint8_t(0), uint8_t(0));
  EXPECT_FALSE(isSameStorage(NpyType::Bool, HS_BOOL));
}

TEST(Conversion, SameStorageIsSameTypeOnly) {
  EXPECT_TRUE(isSameStorage(NpyType::F32, HS_F32));
  EXPECT_TRUE(isSameStorage(NpyType::I64, HS_I64));
  EXPECT_FALSE(isSameStorage(NpyType::F16, HS_BF16));
  EXPECT_FALSE(isSameStorage(NpyType::I32, HS_F32));
  EXPECT_FALSE(isSameStorage(NpyType::I8, HS_U8));
  EXPECT_FALSE(isSameStorage(NpyType::I16, HS_F16));
}

TEST(Conversion, FindsInvalidClasses) {
  auto find = [](std::vector<int64_t> ids, int64_t ignored) {
    return findInvalidClass(HS_I64, reinterpret_cast<char *>(ids.data()), ids.size(), 3, ignored);
  };
  EXPECT_EQ(find({0, 1, 2}, INT64_MIN), 3u);
  EXPECT_EQ(find({0, 3, 2}, INT64_MIN), 1u);
  EXPECT_EQ(find({0, 1, -1}, INT64_MIN), 2u);
  EXPECT_EQ(find({0, -100, 2}, -100), 3u);
  EXPECT_EQ(find({0, -100, 2}, INT64_MIN), 1u);
  EXPECT_EQ(find({255, 3}, 255), 1u);
  uint8_t bytes[] = {2, 200};
  EXPECT_EQ(findInvalidClass(HS_U8, reinterpret_cast<char *>(bytes), 2, 3, INT64_MIN), 1u);
}

} // namespace

//===- Numbers.h - Numbers of any type, as bytes and in f64 -------------------------*- C++ -*-===//
#ifndef HALFSTEP_TESTS_RUNTIME_NUMBERS_H
#define HALFSTEP_TESTS_RUNTIME_NUMBERS_H

#include "runtime/Half.h"
#include "runtime/step_abi.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace halfstep::runtime {

/// Half a unit in the last place of 1.
inline double roundingOf(uint32_t type) {
  return type == HS_F64 ? 0x1p-53 : type == HS_F32 ? 0x1p-24 : type == HS_F16 ? 0x1p-11 : 0x1p-8;
}

/// The bytes of numbers in a type.
inline std::string encode(const std::vector<double> &numbers, uint32_t type) {
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

inline std::vector<double> decode(const std::string &bytes, uint32_t type) {
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
inline std::vector<double> draw(int64_t count, uint32_t type, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> numbers(static_cast<size_t>(count));
  for (double &number : numbers)
    number = uniform(random);
  return decode(encode(numbers, type), type);
}

/// A byte of results that nothing was written to: large numbers in every type.
inline constexpr char unwritten = '\x77';

/// Small whole numbers, whose sums and halves are exact in any order and in any float type.
inline std::vector<double> drawWhole(int64_t count, unsigned seed) {
  std::vector<double> numbers = draw(count, HS_F32, seed);
  for (double &number : numbers)
    number = std::round(number * 3);
  return numbers;
}

} // namespace halfstep::runtime

#endif

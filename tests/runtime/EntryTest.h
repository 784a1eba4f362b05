//===- EntryTest.h - Library calls on numbers of any type ---------------------------*- C++ -*-===//
//
// Tests of library calls reckon in f64 on numbers that are rounded to the type of each operand.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_TESTS_RUNTIME_ENTRYTEST_H
#define HALFSTEP_TESTS_RUNTIME_ENTRYTEST_H

#include "Allocations.h"
#include "runtime/CpuBackend.h"
#include "runtime/Half.h"
#include "runtime/Scratch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace halfstep::runtime {

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

/// Runs one entry on operands; the result's bytes. Checks that running it allocates nothing.
inline std::string runEntry(hs_entry_kind kind, const void *detail,
                            std::vector<std::string> operands, size_t resultBytes, int threads) {
  operands.emplace_back(resultBytes, unwritten);
  std::vector<hs_tensor> inputs(operands.size());
  std::vector<hs_slice> slices;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs[i].slice = {HS_BUFFER_INPUTS + i, 0, operands[i].size()};
    slices.push_back(inputs[i].slice);
  }
  hs_entry entry = {uint32_t(kind), uint32_t(slices.size()), slices.data(), detail, "entry", "",
                    nullptr};
  hs_artefact artefact{};
  artefact.input_count = uint32_t(inputs.size());
  artefact.inputs = inputs.data();
  artefact.programs[HS_MICRO] = {1, &entry};
  artefact.scratch_bytes = scratchBytes(entry.kind, entry.detail);
  CpuBackend backend("test", artefact, threads);
  for (size_t i = 0; i < operands.size(); ++i)
    backend.bindInput(i, operands[i].data());
  backend.run(HS_MICRO);
  if (threads == 1)
    EXPECT_EQ(countAllocations([&] { backend.run(HS_MICRO); }), 0u);
  return operands.back();
}

} // namespace halfstep::runtime

#endif

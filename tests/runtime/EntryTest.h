//===- EntryTest.h - Library calls on numbers of any type ---------------------------*- C++ -*-===//
//
// Tests of library calls reckon in f64 on numbers that are rounded to the type of each operand.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_TESTS_RUNTIME_ENTRYTEST_H
#define HALFSTEP_TESTS_RUNTIME_ENTRYTEST_H

#include "Allocations.h"
#include "Numbers.h"
#include "runtime/CpuBackend.h"
#include "runtime/Scratch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace halfstep::runtime {

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

//===- PtxEntries.h - What a module's PTX declares ----------------------------------*- C++ -*-===//
//
// An emulated module is PTX of which only the kernels' declarations are read: what they compute is
// compiled into the executable.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_PTXENTRIES_H
#define HALFSTEP_RUNTIME_EMULATOR_PTXENTRIES_H

#include <cstdint>
#include <string>
#include <vector>

namespace halfstep::runtime {

/// A `.visible .entry`.
struct PtxEntry {
  std::string name;
  uint32_t parameters = 0;    // 64-bit each
  uint32_t maxThreads = 1024; // of a block, `.maxntid`
};

/// Throws Error on a text that is no PTX, and on parameters that are not 64 bits wide.
std::vector<PtxEntry> parsePtxEntries(const std::string &ptx);

} // namespace halfstep::runtime

#endif

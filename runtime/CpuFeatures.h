//===- CpuFeatures.h - What an artefact asks of the CPU -----------------------------*- C++ -*-===//
//
// Whether this CPU, with this operating system, can run an artefact's code.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CPUFEATURES_H
#define HALFSTEP_RUNTIME_CPUFEATURES_H

#include <string>
#include <string_view>

namespace halfstep::runtime {

/// Those of `features`, names of LLVM separated by commas, that are missing here, likewise. A name
/// that the runtime does not know counts as missing.
std::string missingCpuFeatures(std::string_view features);

} // namespace halfstep::runtime

#endif

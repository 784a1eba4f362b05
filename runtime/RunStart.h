//===- RunStart.h - From the options of a run to its first step ---------------------*- C++ -*-===//
//
// A run begins anew or where a checkpoint left it. All that can be wrong with that is found before
// anything is computed or written.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_RUNSTART_H
#define HALFSTEP_RUNTIME_RUNSTART_H

#include "runtime/Checkpoint.h"
#include "runtime/RunOptions.h"

namespace halfstep::runtime {

/// Where in the data a run begins: the order of samples follows from `seed`.
struct RunStart {
  uint64_t step = 0, seed = 0;
  bool shuffle = true;
};

/// Throws (wrong usage) where options that belong together are not all there.
void checkOptions(const RunOptions &options);

/// Throws (wrong usage) where an output of the run would overwrite one of `inputs`, a file that the
/// options name as input, or without --force an older result; or where it cannot be written.
void checkOutputs(const RunOptions &options, std::vector<std::string> inputs);

/// Fills the state: from --resume, --weights or else `weights`. Returns the metadata of the
/// checkpoint that the run continues, if it does.
Metadata restoreState(Session &session, const Safetensors &weights, const RunOptions &options);

/// Where the run whose state is restored begins: as `metadata` of its checkpoint says, where it has
/// any, or as the options do. Throws (wrong usage) where they contradict each other. Sets the
/// counter that random numbers are drawn by.
RunStart findStart(Session &session, const Metadata &metadata, const RunOptions &options);

} // namespace halfstep::runtime

#endif

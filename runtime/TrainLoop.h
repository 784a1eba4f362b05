//===- TrainLoop.h - Training as a command ------------------------------------------*- C++ -*-===//
//
// Training as a command: data in, checkpoints, log and progress out.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_TRAINLOOP_H
#define HALFSTEP_RUNTIME_TRAINLOOP_H

#include "runtime/RunOptions.h"

namespace halfstep::runtime {

/// Trains as `options` say, from the state that they name or else from `weights`. `inputs` are
/// files that no output may overwrite besides those that the options name: the model, the
/// executable. Returns the exit code: 0, or 130 where SIGINT ended it after the step it was in and
/// the save. Throws `Error` with the exit code 1 (data, files), 2 (usage), or 3: the loss of an
/// update that was applied is not finite, `max_skips` updates in a row were skipped, or
/// --detect-anomaly found a value that is not finite; nothing is saved then.
///
/// The same options give the same bits, for any number of threads and however often the run is
/// saved and resumed: data order and position follow from seed and step number alone.
int runTraining(Session &session, const Safetensors &weights, const RunOptions &options,
                const std::vector<std::string> &inputs);

} // namespace halfstep::runtime

#endif

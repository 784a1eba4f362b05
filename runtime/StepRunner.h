//===- StepRunner.h - One update after the other ------------------------------------*- C++ -*-===//
//
// A step is all its micro-batches, then the optimizer. It runs as it is, with a check after each
// entry (--detect-anomaly) or with a census of what each entry writes (--probe): the same programs,
// the same bits.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_STEPRUNNER_H
#define HALFSTEP_RUNTIME_STEPRUNNER_H

#include "runtime/Probe.h"
#include "runtime/RunOptions.h"
#include "runtime/TrainingData.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace halfstep::runtime {

class StepRunner {
public:
  /// `say` prints a line for the user.
  StepRunner(Session &session, TrainingData &data, const RunOptions &options,
             std::function<void(const std::string &)> say);

  /// Runs step number `step` of the run, which is `stepOfEpoch` in `epoch`; all count from 0. With
  /// --detect-anomaly, throws at the first value that is not finite.
  Record run(uint64_t step, uint64_t epoch, uint64_t stepOfEpoch);

  /// Runs the micro-batches of a step that was skipped, and was the last one, again; what broke
  /// down in it.
  std::optional<Anomaly> replay(const Record &skipped, uint64_t step, uint64_t epoch,
                                uint64_t stepOfEpoch);

  /// What --probe has counted: of the last step, numbered from 1, into the log, which may be null.
  void logCounts(uint64_t step, const Record &record, TrainingLog *log);
  /// And what is wrong with the run, a line each; without --probe, nothing.
  void sayFindings() const;

private:
  void bindMicroBatch(uint64_t epoch, uint64_t stepOfEpoch, uint64_t i);
  void runChecked(uint64_t step, uint64_t epoch, uint64_t stepOfEpoch);

  Session &session;
  TrainingData &data;
  const bool detectAnomaly;
  const std::function<void(const std::string &)> say;
  const hs_tensor *epochCounter;
  std::optional<Probe> probe;
};

} // namespace halfstep::runtime

#endif

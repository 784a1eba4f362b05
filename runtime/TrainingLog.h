//===- TrainingLog.h - What --log writes --------------------------------------------*- C++ -*-===//
//
// The JSON Lines file of `--log`: one object a training step, one a validation.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_TRAININGLOG_H
#define HALFSTEP_RUNTIME_TRAININGLOG_H

#include "runtime/Evaluation.h"
#include "runtime/Files.h"
#include "runtime/Session.h"

#include <chrono>
#include <string>

namespace halfstep::runtime {

class TrainingLog {
public:
  using Clock = std::chrono::steady_clock;

  /// Opens `path`: a new file, or the end of an existing one if `append`. Throws if it cannot be
  /// written.
  TrainingLog(const std::string &path, bool append);
  TrainingLog(const TrainingLog &) = delete;
  TrainingLog &operator=(const TrainingLog &) = delete;
  /// Writes what is left, as far as it goes.
  ~TrainingLog();

  /// `step` and `epoch` count from 1; the step ran from `start` to `end`.
  void step(uint64_t step, uint64_t epoch, const Record &record, Clock::time_point start,
            Clock::time_point end);
  void validation(uint64_t step, uint64_t epoch, const Metrics &metrics, double seconds);

  /// Any other line, with its end.
  void write(const std::string &line) { buffer += line; }

  /// Hands everything to the operating system; throws on a full disk.
  void flush();

private:
  std::string path;
  Descriptor file;
  std::string buffer;
  Clock::time_point lastFlush;
};

} // namespace halfstep::runtime

#endif

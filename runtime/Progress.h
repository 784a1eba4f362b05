//===- Progress.h - What a run shows while it runs ----------------------------------*- C++ -*-===//
//
// What a training run shows on stderr while it runs: on a terminal a bar that is redrawn at most
// ten times a second; elsewhere a line an epoch, or a line every tenth of the steps where the run
// is counted in steps.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_PROGRESS_H
#define HALFSTEP_RUNTIME_PROGRESS_H

#include "runtime/Evaluation.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace halfstep::runtime {

class Progress {
public:
  enum class Style { Quiet, Lines, Bar };

  /// Quiet if asked for; a bar if stderr is a terminal; else lines.
  static Style chooseStyle(bool quiet);

  /// The run goes from step `first` (finished ones) to `total`. `countsEpochs`: show epochs.
  Progress(Style style, uint64_t first, uint64_t total, uint64_t stepsPerEpoch,
           uint64_t samplesPerStep, bool countsEpochs);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() { endLine(); }

  /// After each step; `done` includes it.
  void step(uint64_t done, double loss) {
    if (style == Style::Quiet)
      return;
    lossSum += loss;
    lastLoss = loss;
    if (done == nextLine || style == Style::Bar)
      show(done);
  }

  /// Ends a bar's line, so that what is written next gets its own.
  void endLine();

  /// After a validation at step `done`, whose time does not count for the speed shown.
  void validation(uint64_t done, const Metrics &metrics, double seconds);

  /// Ends the run's display; `done` steps are finished.
  void finish(uint64_t done);

private:
  using Clock = std::chrono::steady_clock;

  void show(uint64_t done);
  void printLine(uint64_t done, Clock::time_point now);
  void drawBar(uint64_t done, Clock::time_point now);
  void setNextLine(uint64_t done);
  std::string position(uint64_t done) const;

  Style style;
  uint64_t first, total, stepsPerEpoch, samplesPerStep;
  bool countsEpochs;
  bool barIsOpen = false;
  uint64_t nextLine = 0;
  double lastLoss = 0;
  // Since the last line:
  double lossSum = 0;
  uint64_t lineStart;
  Clock::time_point lineTime;
  // Since the start:
  Clock::time_point start, lastDraw;
};

} // namespace halfstep::runtime

#endif

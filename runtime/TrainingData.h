//===- TrainingData.h - The batches of a training run -------------------------------*- C++ -*-===//
//
// Which samples a step takes is a function of its number alone, given files, seed and whether to
// shuffle: a resumed run needs to remember nothing else.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_TRAININGDATA_H
#define HALFSTEP_RUNTIME_TRAININGDATA_H

#include "runtime/Loader.h"

namespace halfstep::runtime {

class TrainingData {
public:
  /// `paths` as for Loader. An epoch is as many whole batches of an update as there are; what is
  /// left of the samples, in the epoch's order, is not used in it. Throws where there is no whole
  /// batch.
  TrainingData(Session &session, const std::vector<std::string> &paths, bool shuffle,
               uint64_t seed);

  uint64_t samples() const { return loader.samples(); }
  /// Samples in a step: those of all its micro-batches.
  uint64_t stepSamples() const { return samplesInStep; }
  uint64_t stepsPerEpoch() const { return stepsInEpoch; }

  /// Binds a micro-batch of a step of an epoch; all three count from 0, the step in the epoch.
  /// Those behind it begin to be staged.
  void bind(uint64_t epoch, uint64_t step, uint64_t microBatch);
  /// As Loader's.
  void cancelPrefetch() { loader.cancelPrefetch(); }

  /// As Loader's.
  void checkComplete() const { loader.checkComplete(); }

private:
  /// The first sample of a micro-batch in its epoch's order, which becomes that of `order`.
  uint64_t firstOf(uint64_t microBatch);

  Loader loader;
  uint64_t samplesInStep, stepsInEpoch, seed;
  std::vector<uint64_t> order; // of epoch `orderEpoch`; empty: as the samples lie
  uint64_t orderEpoch = UINT64_MAX;
};

} // namespace halfstep::runtime

#endif

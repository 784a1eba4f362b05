//===- TrainingData.cpp - The batches of a training run ---------------------------------------===//

#include "runtime/TrainingData.h"

#include "runtime/Shuffle.h"

namespace halfstep::runtime {

TrainingData::TrainingData(Session &session, const std::vector<std::string> &paths, bool shuffle,
                           uint64_t seed)
    : loader(session, paths), samplesInStep(loader.batch() * session.artefact().micro_batches),
      stepsInEpoch(loader.samples() / samplesInStep), seed(seed) {
  if (stepsInEpoch == 0)
    throw tooFewSamples(loader, samplesInStep);
  if (shuffle)
    order.resize(loader.samples());
}

uint64_t TrainingData::firstOf(uint64_t microBatch) {
  uint64_t microBatchesInEpoch = stepsInEpoch * samplesInStep / loader.batch();
  uint64_t epoch = microBatch / microBatchesInEpoch;
  if (!order.empty() && epoch != orderEpoch) {
    shuffleSamples(order, seed, epoch);
    orderEpoch = epoch;
  }
  return microBatch % microBatchesInEpoch * loader.batch();
}

void TrainingData::bind(uint64_t epoch, uint64_t step, uint64_t microBatch) {
  bool isRange = order.empty();
  // Of all, counted from the first of the first epoch.
  uint64_t index = (epoch * stepsInEpoch + step) * (samplesInStep / loader.batch()) + microBatch;
  uint64_t first = firstOf(index);
  isRange ? loader.bindRange(first) : loader.bindRows(order.data() + first);
  while (loader.canPrefetch(isRange)) {
    first = firstOf(index + 1 + loader.prefetched());
    isRange ? loader.prefetchRange(first) : loader.prefetchRows(order.data() + first);
  }
}

} // namespace halfstep::runtime

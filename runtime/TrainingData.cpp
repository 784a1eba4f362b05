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

void TrainingData::bind(uint64_t epoch, uint64_t step, uint64_t microBatch) {
  uint64_t first = step * samplesInStep + microBatch * loader.batch();
  if (order.empty()) {
    loader.bindRange(first);
    return;
  }
  if (epoch != orderEpoch) {
    shuffleSamples(order, seed, epoch);
    orderEpoch = epoch;
  }
  loader.bindRows(order.data() + first);
}

} // namespace halfstep::runtime

//===- StepRunner.cpp - One update after the other --------------------------------------------===//

#include "runtime/StepRunner.h"

#include "runtime/Anomaly.h"

namespace halfstep::runtime {

StepRunner::StepRunner(Session &session, TrainingData &data, const RunOptions &options,
                       std::function<void(const std::string &)> say)
    : session(session), data(data), detectAnomaly(options.detectAnomaly), say(std::move(say)),
      epochCounter(session.find(HS_COUNTER, "epoch")) {
  if (options.probe)
    probe.emplace(session);
}

void StepRunner::bindMicroBatch(uint64_t epoch, uint64_t stepOfEpoch, uint64_t i) {
  if (epochCounter)
    session.writeScalar(*epochCounter, double(epoch));
  data.bind(epoch, stepOfEpoch, i);
}

Record StepRunner::run(uint64_t step, uint64_t epoch, uint64_t stepOfEpoch) {
  if (detectAnomaly) {
    runChecked(step, epoch, stepOfEpoch);
    return session.record(step);
  }
  for (uint64_t i = 0; i < session.artefact().micro_batches; ++i) {
    bindMicroBatch(epoch, stepOfEpoch, i);
    probe ? probe->micro() : session.micro();
  }
  probe ? probe->update() : session.update();
  return session.record(step);
}

/// Where the loss scale adapts, gradients that overflow are part of the search for it: a warning.
void StepRunner::runChecked(uint64_t step, uint64_t epoch, uint64_t stepOfEpoch) {
  std::string name = "step " + std::to_string(step + 1);
  auto fail = [&](const Anomaly &anomaly) {
    Error error(name, "a value is not finite");
    throw explain(error, session, anomaly);
  };
  bool adapts = session.find(HS_COUNTER, "growth"), overflows = false;
  for (uint64_t i = 0; i < session.artefact().micro_batches; ++i) {
    bindMicroBatch(epoch, stepOfEpoch, i);
    if (overflows) { // the update is skipped whatever follows
      session.micro();
      continue;
    }
    std::optional<Anomaly> anomaly = runtime::runChecked(session, HS_MICRO);
    if (anomaly && !(adapts && anomaly->isGradient()))
      fail(*anomaly);
    if (anomaly)
      say("warning: " + name + ": the update is skipped: " + describe(session, *anomaly));
    overflows = anomaly.has_value();
  }
  if (overflows)
    session.update();
  else if (std::optional<Anomaly> anomaly = runtime::runChecked(session, HS_UPDATE))
    fail(*anomaly);
}

/// A skipped update has left the state as it was, but for the counter and the scale.
std::optional<Anomaly> StepRunner::replay(const Record &skipped, uint64_t step, uint64_t epoch,
                                          uint64_t stepOfEpoch) {
  session.writeScalar(*session.find(HS_COUNTER, "iteration"), double(step));
  session.writeScalar(*session.find(HS_HYPERPARAMETER, "scale"), skipped.scale);
  for (uint64_t i = 0; i < session.artefact().micro_batches; ++i) {
    bindMicroBatch(epoch, stepOfEpoch, i);
    if (std::optional<Anomaly> anomaly = runtime::runChecked(session, HS_MICRO))
      return anomaly;
  }
  return std::nullopt;
}

void StepRunner::logCounts(uint64_t step, const Record &record, TrainingLog *log) {
  if (probe)
    probe->endStep(step, record.skipped, log);
}

void StepRunner::sayFindings() const {
  if (!probe)
    return;
  std::vector<std::string> findings = probe->findings();
  for (const std::string &finding : findings)
    say("probe: " + finding);
  if (findings.empty())
    say("probe: no 16-bit numbers out of range");
}

} // namespace halfstep::runtime

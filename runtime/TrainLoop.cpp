//===- TrainLoop.cpp - Training as a command --------------------------------------------------===//

#include "runtime/TrainLoop.h"

#include "runtime/Anomaly.h"
#include "runtime/Checkpoint.h"
#include "runtime/Interrupt.h"
#include "runtime/Progress.h"
#include "runtime/RunStart.h"
#include "runtime/StepRunner.h"
#include "runtime/TrainingData.h"
#include "runtime/TrainingLog.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <sstream>

namespace halfstep::runtime {

namespace {

using Clock = std::chrono::steady_clock;

class Training {
public:
  Training(Session &session, const Safetensors &weights, const RunOptions &options,
           std::vector<std::string> inputs);
  int run();

private:
  void chooseTotal();
  void warnOfOtherData(const Metadata &metadata);
  Metadata position() const;
  Error brokenLoss(double loss) const;
  Error skippedTooOften(const Record &record, uint64_t epoch, uint64_t stepOfEpoch);
  void validate();
  void save();
  void say(const std::string &text);

  Session &session;
  const RunOptions &options;
  Interrupt interrupt;

  RunStart start;
  std::optional<TrainingData> data;
  std::optional<StepRunner> steps;
  std::optional<Evaluator> evaluator;
  std::optional<TrainingLog> log;
  std::optional<Progress> progress;
  uint64_t done = 0, total = 0; // steps
  double skips = 0, mostSkips;  // updates left out in a row
  uint64_t validatedAt = UINT64_MAX, savedAt = UINT64_MAX;
};

Training::Training(Session &session, const Safetensors &weights, const RunOptions &options,
                   std::vector<std::string> inputs)
    : session(session), options(options) {
  checkOptions(options);
  const hs_artefact &artefact = session.artefact();
  std::vector<std::string> paths = matchFiles(artefact, options.data, "--data", true);
  std::vector<std::string> validationPaths;
  if (!options.validate.empty())
    validationPaths = matchFiles(artefact, options.validate, "--validate", true);
  inputs.insert(inputs.end(), paths.begin(), paths.end());
  inputs.insert(inputs.end(), validationPaths.begin(), validationPaths.end());
  checkOutputs(options, std::move(inputs));

  Metadata metadata = restoreState(session, weights, options);
  setHyperparameters(session, options.set);
  const hs_tensor *limit = session.find(HS_HYPERPARAMETER, "max_skips");
  mostSkips = limit ? session.readScalar(*limit) : std::numeric_limits<double>::infinity();
  start = findStart(session, metadata, options);
  done = start.step;
  data.emplace(session, paths, start.shuffle, start.seed);
  steps.emplace(session, *data, options, [this](const std::string &text) { say(text); });
  if (!validationPaths.empty())
    evaluator.emplace(session, validationPaths, options.metrics, options.quiet);
  chooseTotal();
  warnOfOtherData(metadata);

  // Last, because opening it may empty the log of an earlier run.
  if (!options.log.empty())
    log.emplace(options.log, !options.resume.empty());
}

void Training::chooseTotal() {
  if (options.steps)
    total = *options.steps;
  else if (__builtin_mul_overflow(*options.epochs, data->stepsPerEpoch(), &total) ||
           total > largestStep)
    throw Error("--epochs", "more than 2^53 steps cannot be counted").exitWith(2);
}

/// Another number of samples or another batch puts the same step at another place in the data.
void Training::warnOfOtherData(const Metadata &metadata) {
  for (auto [key, value] : position()) {
    auto stored = metadata.find(key);
    if (stored != metadata.end() && stored->second != value)
      say("warning: " + options.resume + ": it was made with " + key + " " + stored->second +
          ", now it is " + value + ": the order of samples is not that of one uninterrupted run");
  }
}

/// What a checkpoint records besides the state, so that the run can be continued bit for bit.
Metadata Training::position() const {
  return {{"seed", std::to_string(start.seed)},
          {"shuffle", start.shuffle ? "true" : "false"},
          {"samples", std::to_string(data->samples())},
          {"batch", std::to_string(data->stepSamples())}};
}

int Training::run() {
  if (done >= total && !options.resume.empty())
    say(options.resume + " is at step " + std::to_string(done) + ": nothing is left to train");
  progress.emplace(Progress::chooseStyle(options.quiet), done, total, data->stepsPerEpoch(),
                   data->stepSamples(), options.epochs.has_value());

  uint64_t epoch = done / data->stepsPerEpoch(), stepOfEpoch = done % data->stepsPerEpoch();
  uint64_t stepsToSave = options.saveEvery.value_or(UINT64_MAX);
  stepsToSave -= done % stepsToSave;
  while (done < total && !Interrupt::requested()) {
    Clock::time_point start;
    if (log)
      start = Clock::now();
    Record record = steps->run(done, epoch, stepOfEpoch);
    ++done;
    if (log)
      log->step(done, epoch + 1, record, start, Clock::now());
    steps->logCounts(done, record, log ? &*log : nullptr);
    progress->step(done, record.loss);
    if (!std::isfinite(record.loss) && !record.skipped) {
      steps->sayFindings();
      throw brokenLoss(record.loss);
    }
    skips = record.skipped ? skips + 1 : 0;
    if (skips >= mostSkips) {
      steps->sayFindings();
      throw skippedTooOften(record, epoch, stepOfEpoch);
    }
    if (LostPages::occurred())
      data->checkComplete();

    if (++stepOfEpoch == data->stepsPerEpoch()) {
      stepOfEpoch = 0;
      ++epoch;
      data->checkComplete();
      validate();
    }
    if (--stepsToSave == 0) {
      save();
      stepsToSave = *options.saveEvery;
    }
  }

  bool interrupted = Interrupt::requested();
  data->checkComplete();
  if (!interrupted)
    validate();
  progress->finish(done);
  if (!options.save.empty())
    save();
  if (log)
    log->flush();
  steps->sayFindings();
  if (interrupted)
    say("stopped after step " + std::to_string(done) + " of " + std::to_string(total) +
        (options.save.empty() ? "" : "; continue with --resume " + options.save));
  return interrupted ? 130 : 0;
}

/// The loss scale has come down as often as it may, and gradients still overflow.
Error Training::skippedTooOften(const Record &record, uint64_t epoch, uint64_t stepOfEpoch) {
  Error error("step " + std::to_string(done),
              skips == 1 ? "the update was skipped"
                         : std::to_string(uint64_t(skips)) + " updates in a row were skipped");
  std::ostringstream scale;
  scale << record.scale;
  if (std::isfinite(record.loss))
    error.detail("gradients overflow at a loss scale of " + scale.str() + " too");
  if (std::optional<Anomaly> anomaly = steps->replay(record, done - 1, epoch, stepOfEpoch))
    explain(error, session, *anomaly);
  return error.exitWith(3);
}

Error Training::brokenLoss(double loss) const {
  Error error("", "the loss of step " + std::to_string(done) + " is " +
                      (std::isnan(loss) ? "not a number" : "infinite"));
  error.detail(options.save.empty() ? "the weights are of no use"
                                    : "the weights are of no use and were not saved");
  error.help("try a smaller learning rate (--set lr=...), or look at the data: NaN or very large "
             "values? --detect-anomaly names the node");
  return error.exitWith(3);
}

void Training::validate() {
  if (!evaluator || validatedAt == done)
    return;
  validatedAt = done;
  Clock::time_point start = Clock::now();
  data->cancelPrefetch();
  Metrics metrics = evaluator->run();
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (Interrupt::requested())
    return;
  progress->validation(done, metrics, seconds);
  if (log)
    log->validation(done, (done + data->stepsPerEpoch() - 1) / data->stepsPerEpoch(), metrics,
                    seconds);
}

void Training::save() {
  if (savedAt == done)
    return;
  data->checkComplete();
  if (log)
    log->flush();
  saveCheckpoint(session, options.save, position());
  savedAt = done;
}

/// A line on stderr that is no progress and no error.
void Training::say(const std::string &text) {
  if (options.quiet)
    return;
  if (progress)
    progress->endLine();
  std::fprintf(stderr, "halfstep: %s\n", text.c_str());
}

} // namespace

int runTraining(Session &session, const Safetensors &weights, const RunOptions &options,
                const std::vector<std::string> &inputs) {
  return Training(session, weights, options, inputs).run();
}

} // namespace halfstep::runtime

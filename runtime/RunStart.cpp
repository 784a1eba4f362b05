//===- RunStart.cpp - From the options of a run to its first step -----------------------------===//

#include "runtime/RunStart.h"

#include "runtime/Error.h"
#include "runtime/Files.h"
#include "runtime/OutputFiles.h"

#include <charconv>
#include <cmath>
#include <filesystem>

namespace halfstep::runtime {

void checkOptions(const RunOptions &options) {
  if (!options.epochs && !options.steps)
    throw Error("", "it is not said how long to train")
        .help("add --epochs N or --steps N")
        .exitWith(2);
  if (options.validate.empty() && !options.metrics.empty())
    throw Error("--metric", "there is no held-out data to evaluate it on")
        .help("add --validate NAME=FILE for each input and the label")
        .exitWith(2);
}

void checkOutputs(const RunOptions &options, std::vector<std::string> inputs) {
  if (!options.weights.empty())
    inputs.push_back(options.weights);
  if (!options.save.empty()) {
    checkIsNoInput("--save", options.save, inputs);
    checkIsNoInput("--save", options.save + ".part", inputs); // where it grows
    std::error_code ignored; // then it cannot be written either, which is said below
    if (std::filesystem::exists(options.save, ignored) && options.resume.empty() && !options.force)
      throw Error("--save", options.save + " exists already")
          .help("continue it with --resume " + options.save + ", or replace it with --force")
          .exitWith(2);
    ReplacedFile writable(options.save); // throws if it is not
  }
  if (!options.resume.empty())
    inputs.push_back(options.resume);
  if (!options.save.empty())
    inputs.push_back(options.save);
  if (!options.log.empty())
    checkIsNoInput("--log", options.log, inputs);
}

Metadata restoreState(Session &session, const Safetensors &weights, const RunOptions &options) {
  if (!options.resume.empty())
    return restoreCheckpoint(session, options.resume);
  session.initialise(weights);
  if (!options.weights.empty())
    session.loadParameters(Safetensors::open(options.weights));
  return {};
}

RunStart findStart(Session &session, const Metadata &metadata, const RunOptions &options) {
  auto choose = [&](const char *key, std::optional<std::string> given, std::string otherwise) {
    auto stored = metadata.find(key);
    if (stored == metadata.end())
      return given.value_or(otherwise);
    if (given && *given != stored->second)
      throw Error(std::string("--") + key, options.resume + " was made with " + key + " " +
                                               stored->second + ", not " + *given)
          .help("leave it out to continue, or start anew with --weights " + options.resume)
          .exitWith(2);
    return stored->second;
  };
  std::optional<std::string> givenSeed, givenShuffle;
  if (options.seed)
    givenSeed = std::to_string(*options.seed);
  if (options.shuffle)
    givenShuffle = *options.shuffle ? "true" : "false";
  std::string seedText = choose("seed", givenSeed, "0");
  RunStart start;
  start.shuffle = choose("shuffle", givenShuffle, "true") == "true";
  auto parsed = std::from_chars(seedText.data(), seedText.data() + seedText.size(), start.seed);

  const hs_tensor *iteration = session.find(HS_COUNTER, "iteration");
  double value = iteration ? session.readScalar(*iteration) : 0;
  if (parsed.ec != std::errc() || !(value >= 0 && value <= double(largestStep)) ||
      value != std::floor(value))
    throw Error(options.resume, "its position in the training is damaged")
        .help("start from its weights alone: --weights " + options.resume);
  start.step = uint64_t(value);
  // A checkpoint holds the seed of its random numbers, whoever wrote it.
  const hs_tensor *drawn = session.find(HS_COUNTER, "seed");
  if (drawn && (options.resume.empty() || options.seed))
    session.write(*drawn, &start.seed);
  return start;
}

} // namespace halfstep::runtime

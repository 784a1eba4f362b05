//===- RunOptions.cpp - The options of a training run -----------------------------------------===//

#include "runtime/RunOptions.h"

#include "runtime/Loader.h"
#include "runtime/Suggestion.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <thread>
#include <utility>

namespace halfstep::runtime {

namespace {

/// NAME=... may be given several times, one value each: never the next word of the command line.
void addList(CLI::App &command, const char *flag, std::vector<std::string> &values,
             const char *help, const char *type) {
  command.add_option(flag, values, help)->allow_extra_args(false)->type_name(type);
}

/// Checks a whole number, in decimal digits. CLI11's own reading would take "-1" for 2^64 - 1,
/// "010" for eight and what is too large for the largest number.
std::function<std::string(const std::string &)> wholeNumber(uint64_t smallest, uint64_t largest) {
  return [=](const std::string &text) -> std::string {
    uint64_t value;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool isDecimal = end == text.data() + text.size() && (text.size() == 1 || text[0] != '0');
    if (failure == std::errc() && isDecimal && value >= smallest && value <= largest)
      return "";
    return "'" + text + "' is not a whole number from " + std::to_string(smallest) + " to " +
           std::to_string(largest);
  };
}

} // namespace

std::string isNoEmptyName(const std::string &path) { return path.empty() ? "an empty name" : ""; }

void addThreads(CLI::App &command, int &threads) {
  command.add_option("--threads", threads, "threads to compute with (default: all CPUs)")
      ->check(wholeNumber(1, 4096))
      ->type_name("N");
}

void addDataOptions(CLI::App &command, RunOptions &options) {
  addList(command, "--data", options.data,
          "samples of each input, and of the label: a .npy file, first dimension the samples",
          "NAME=FILE");
  addThreads(command, options.threads);
  command
      .add_option("--device", options.device.device,
                  "which CUDA device runs a step that is for one: auto, emulate or a number")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      .add_option("--emulator-seed", options.device.emulatorSeed,
                  "of the order in which an emulated device runs threads and blocks")
      ->check(wholeNumber(0, UINT64_MAX))
      ->type_name("N");
  command.add_flag("--quiet", options.quiet, "no progress and no warnings");
}

void addRunOptions(CLI::App &command, RunOptions &options) {
  addDataOptions(command, options);
  CLI::Option *epochs =
      command.add_option("--epochs", options.epochs, "passes over the data, resumed ones included")
          ->check(wholeNumber(1, largestStep))
          ->type_name("N");
  command.add_option("--steps", options.steps, "training steps, resumed ones included")
      ->check(wholeNumber(1, largestStep))
      ->excludes(epochs)
      ->type_name("N");
  command.add_flag_function(
      "--shuffle,!--no-shuffle", [&](int64_t on) { options.shuffle = on > 0; },
      "take the samples in a new random order each epoch (default), or as they lie");
  command
      .add_option("--seed", options.seed,
                  "of all random numbers: order of samples, dropout, rounding (default 0)")
      ->check(wholeNumber(0, UINT64_MAX))
      ->type_name("N");
  addList(command, "--set", options.set, "set a hyperparameter, for example lr=1e-4", "NAME=VALUE");
  addList(command, "--validate", options.validate,
          "held-out samples, evaluated after each epoch and at the end", "NAME=FILE");
  addList(command, "--metric", options.metrics,
          "metric to evaluate (default: all that the model has)", "NAME");
  command.add_option("--log", options.log, "write one JSON object a step")
      ->check(isNoEmptyName)
      ->type_name("FILE.jsonl");
  CLI::Option *save = command.add_option("--save", options.save, "write a checkpoint at the end")
                          ->check(isNoEmptyName)
                          ->type_name("CKPT");
  command.add_option("--save-every", options.saveEvery, "write it also every N steps")
      ->check(wholeNumber(1, largestStep))
      ->needs(save)
      ->type_name("N");
  CLI::Option *resume =
      command.add_option("--resume", options.resume, "continue from a checkpoint, bit for bit")
          ->check(isNoEmptyName)
          ->type_name("CKPT");
  command.add_option("--weights", options.weights, "start anew from the weights of a checkpoint")
      ->check(isNoEmptyName)
      ->excludes(resume)
      ->type_name("CKPT");
  CLI::Option *detectAnomaly = command.add_flag(
      "--detect-anomaly", options.detectAnomaly,
      "check every value of every step; stop at the first that is not finite, and name "
      "its node (slow)");
  command
      .add_flag(
          "--probe", options.probe,
          "count zeros, subnormal, saturated and non-finite numbers of 16 bits in every step, "
          "into --log; say what is wrong in the end (slow)")
      ->excludes(detectAnomaly);
  command.add_flag("--force", options.force, "let --save replace an existing file");
}

int threadCount(int given) {
  return given ? given : int(std::max(1u, std::thread::hardware_concurrency()));
}

namespace {

/// Splits NAME=VALUE at the `=` behind a known name, else at the first one: an ONNX name may
/// contain one itself.
std::pair<std::string, std::string> split(const std::string &option, const std::string &assignment,
                                          const std::vector<std::string> &known,
                                          const char *valueName) {
  size_t end = assignment.find('=');
  for (const std::string &name : known)
    if (assignment.compare(0, name.size(), name) == 0 && assignment[name.size()] == '=' &&
        (end == std::string::npos || name.size() > end))
      end = name.size();
  if (end == std::string::npos || end == 0 || end + 1 == assignment.size())
    throw Error(option, "'" + assignment + "' is not NAME=" + valueName).exitWith(2);
  return {assignment.substr(0, end), assignment.substr(end + 1)};
}

/// The value of the hyperparameter `name`. A step computes in f32, where it must neither become
/// infinite nor, without being zero, zero.
double parseNumber(const std::string &name, const std::string &text) {
  double value;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool isNumber = failure != std::errc::invalid_argument && end == text.data() + text.size();
  if (!isNumber || (failure == std::errc() && !std::isfinite(value)))
    throw Error("--set", name + ": '" + text + "' is not a finite number").exitWith(2);
  if (failure != std::errc() || !std::isfinite(float(value)) || (value != 0 && float(value) == 0))
    throw Error("--set", name +
                             " must be a number of f32: zero, or from 1.4e-45 to 3.4e38 in size "
                             "(got " +
                             text + ")")
        .exitWith(2);
  return value;
}

} // namespace

std::vector<std::string> matchFiles(const hs_artefact &artefact,
                                    const std::vector<std::string> &assignments,
                                    const std::string &option, bool needLabel) {
  std::vector<std::string> names, files(artefact.input_count);
  for (uint32_t i = 0; i < artefact.input_count; ++i)
    names.push_back(inputName(artefact.inputs[i]));

  for (const std::string &assignment : assignments) {
    auto [name, file] = split(option, assignment, names, "FILE");
    size_t index = std::find(names.begin(), names.end(), name) - names.begin();
    if (index == names.size())
      throw unknownName(option, "input of the model", name, names);
    if (!files[index].empty())
      throw Error(option, "the file of " + name + " is given twice").exitWith(2);
    if (artefact.inputs[index].role == HS_LABEL && !needLabel)
      throw Error(option, "the label is not read here").help("leave it out").exitWith(2);
    files[index] = file;
  }

  std::string missing, example;
  for (uint32_t i = 0; i < artefact.input_count; ++i)
    if (files[i].empty() && (needLabel || artefact.inputs[i].role != HS_LABEL)) {
      missing += (missing.empty() ? "" : ", ") + names[i];
      example += " " + option + " " + names[i] + "=FILE.npy";
    }
  if (!missing.empty())
    throw Error(option, "no data for " + missing).help("add" + example).exitWith(2);
  return files;
}

void setHyperparameters(Session &session, const std::vector<std::string> &assignments) {
  const hs_artefact &artefact = session.artefact();
  std::vector<std::string> names;
  for (uint64_t i = 0; i < artefact.tensor_count; ++i)
    if (artefact.tensors[i].role == HS_HYPERPARAMETER)
      names.push_back(artefact.tensors[i].name);

  std::vector<std::pair<const hs_tensor *, double>> values;
  for (const std::string &assignment : assignments) {
    auto [name, text] = split("--set", assignment, names, "VALUE");
    const hs_tensor *hyperparameter = session.find(HS_HYPERPARAMETER, name);
    if (!hyperparameter)
      throw unknownName("--set", "hyperparameter of the model", name, names);
    double value = parseNumber(name, text);
    const hs_range *range = hyperparameter->range;
    if (range && !(value >= range->smallest && value <= range->largest))
      throw Error("--set", name + " " + range->requirement + " (got " + text + ")").exitWith(2);
    values.emplace_back(hyperparameter, value);
  }
  for (auto [hyperparameter, value] : values)
    session.writeScalar(*hyperparameter, value);
}

} // namespace halfstep::runtime

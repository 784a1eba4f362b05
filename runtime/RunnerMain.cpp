//===- RunnerMain.cpp - The program of every training executable ------------------------------===//
//
// The program that every training executable is: these bytes, and behind them a model's artefact
// and weights.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/CommandLine.h"
#include "runtime/Description.h"
#include "runtime/Evaluation.h"
#include "runtime/JsonLine.h"
#include "runtime/Library.h"
#include "runtime/Licenses.h"
#include "runtime/Payload.h"
#include "runtime/TrainLoop.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

using namespace halfstep::runtime;

namespace {

/// What an executable does besides training.
struct RunnerOptions : RunOptions {
  bool evaluate = false, infer = false, describe = false, licenses = false;
  std::string out;
};

void addOptions(CLI::App &command, RunnerOptions &options) {
  addRunOptions(command, options);
  command.add_flag("--evaluate", options.evaluate, "print the metrics of the data as JSON");
  command.add_flag("--infer", options.infer, "write the model's outputs for the data");
  command.add_option("--out", options.out, "folder for the outputs, each as NAME.npy")
      ->check(isNoEmptyName)
      ->type_name("DIR");
  command.add_flag("--describe", options.describe, "print recipe, tensors and sizes");
  command.add_flag("--licenses", options.licenses, "print the licences of what is in this program");
  command.footer("Example: " + command.get_name() +
                 " --epochs 20 --data x=x.npy --data label=label.npy --save trained.safetensors\n"
                 "The names of the inputs: " +
                 command.get_name() + " --describe");
}

/// Throws where an option is given that the chosen mode would ignore.
void checkMode(const CLI::App &command) {
  struct Mode {
    const char *flag; // null: training
    std::vector<std::string> options;
  };
  const Mode modes[] = {
      {"--evaluate",
       {"--data", "--metric", "--weights", "--threads", "--device", "--emulator-seed", "--quiet"}},
      {"--infer",
       {"--data", "--out", "--weights", "--threads", "--device", "--emulator-seed", "--quiet"}},
      {"--describe", {"--device"}},
      {"--licenses", {}},
  };
  auto given = [&](const std::string &option) { return command.count(option) > 0; };
  for (const Mode &mode : modes) {
    if (!given(mode.flag))
      continue;
    for (const std::string &name : optionNames(command)) {
      std::string option = "--" + name;
      bool belongs = option == mode.flag || std::find(mode.options.begin(), mode.options.end(),
                                                      option) != mode.options.end();
      if (given(option) && !belongs)
        throw Error(option, std::string("it has no meaning with ") + mode.flag)
            .help("leave one of them out")
            .exitWith(2);
    }
    return;
  }
  if (given("--out"))
    throw Error("--out", "it has no meaning without --infer").exitWith(2);
}

bool carriesPayload(const std::string &executable) {
  MappedFile file = MappedFile::open(executable);
  std::string_view bytes = file.bytes();
  std::string_view magic(payloadMagic);
  return bytes.size() >= sizeof(PayloadTrailer) &&
         bytes.substr(bytes.size() - sizeof(PayloadTrailer), magic.size()) == magic;
}

int evaluate(Session &session, const RunnerOptions &options) {
  Evaluator evaluator(session, matchFiles(session.artefact(), options.data, "--data", true),
                      options.metrics, options.quiet);
  Metrics metrics = evaluator.run();
  JsonLine line;
  for (const auto &[name, value] : metrics.values)
    line.field(name, value);
  std::cout << line.field("samples", metrics.samples).finish();
  return 0;
}

int infer(Session &session, const RunnerOptions &options, std::vector<std::string> inputs) {
  if (options.out.empty())
    throw Error("--infer", "it is not said where the outputs go").help("add --out DIR").exitWith(2);
  std::vector<std::string> paths = matchFiles(session.artefact(), options.data, "--data", false);
  inputs.insert(inputs.end(), paths.begin(), paths.end());
  if (!options.weights.empty())
    inputs.push_back(options.weights);
  writeOutputs(session, paths, options.out, inputs);
  return 0;
}

Payload openPayload(const std::string &executable, const DeviceChoice &device) {
  if (!carriesPayload(executable))
    throw Error(executable, "this is the bare runner of training executables; it carries no model")
        .help("make a training executable with: halfstep compile MODEL.onnx -o OUT");
  return Payload::open(executable, device);
}

int run(int argc, char **argv) {
  RunnerOptions options;
  CLI::App command("Trains a model that halfstep compiled.", argc ? argv[0] : "halfstep-runner");
  command.set_version_flag("--version", "halfstep " HALFSTEP_VERSION);
  addOptions(command, options);
  if (std::optional<int> answered = parseCommandLine(command, argc, argv))
    return *answered;
  checkMode(command);
  if (options.licenses) {
    std::cout << licenseTexts;
    return 0;
  }

  std::string executable = executablePath();
  Payload payload = openPayload(executable, options.device);
  if (options.describe) {
    std::cout << describeArtefact(payload.artefact->tables());
    return 0;
  }
  Session session(payload.artefact, threadCount(options.threads), options.device,
                  options.infer ? Use::Inference : Use::Training);
  if (!options.evaluate && !options.infer)
    return runTraining(session, *payload.weights, options, {executable});

  session.initialise(*payload.weights);
  if (!options.weights.empty())
    session.loadParameters(Safetensors::open(options.weights));
  return options.evaluate ? evaluate(session, options) : infer(session, options, {executable});
}

} // namespace

int main(int argc, char **argv) {
  try {
    int exitCode = run(argc, argv);
    if (!std::cout.flush())
      throw Error("standard output", "it cannot be written");
    return exitCode;
  } catch (const Error &error) {
    std::cerr << "halfstep: error: " << error.what() << std::endl;
    return error.exitCode();
  } catch (const std::bad_alloc &) {
    std::cerr << "halfstep: error: out of memory" << std::endl;
  } catch (const std::exception &error) {
    std::cerr << "halfstep: error: " << error.what() << std::endl;
  }
  return 1;
}

//===- TrainLoopTest.h - Training as a command, in process --------------------------*- C++ -*-===//
#ifndef HALFSTEP_TESTS_RUNTIME_TRAINLOOPTEST_H
#define HALFSTEP_TESTS_RUNTIME_TRAINLOOPTEST_H

#include "RunnerTest.h"
#include "runtime/TrainLoop.h"

#include <nlohmann/json.hpp>

#include <sstream>

namespace halfstep::runtime {

class TrainLoopTest : public ::testing::Test {
protected:
  TrainLoopTest() {
    writeNpy(folder / "x.npy", samples.x, {3});
    writeNpy(folder / "label.npy", samples.label);
    options.data = {"x=" + folder / "x.npy", "label=" + folder / "label.npy"};
    options.quiet = true;
  }

  int train(const RunOptions &options, const std::string &variant = "RunnerModel") {
    session = startRunnerModel(variant);
    std::string weights = runnerModelWeights();
    return runTraining(*session, Safetensors::parse("weights", weights), options, {});
  }

  std::vector<float> weight() const {
    std::vector<float> values(3);
    session->read(*session->find(HS_PARAMETER, "w"), values.data());
    return values;
  }

  std::vector<nlohmann::json> log() const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(readFile(folder / "log.jsonl"));
    for (std::string line; std::getline(text, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  TemporaryFolder folder;
  Samples samples{22}; // five batches of four and a rest of two
  RunOptions options;
  std::unique_ptr<Session> session;
};

} // namespace halfstep::runtime

#endif

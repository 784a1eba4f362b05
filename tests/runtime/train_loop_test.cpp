//===- train_loop_test.cpp - Training as a command, in process --------------------------------===//

#include "Allocations.h"
#include "TrainLoopTest.h"
#include "runtime/Shuffle.h"

#include <cmath>

using namespace halfstep::runtime;

namespace {

using TrainLoop = TrainLoopTest;

/// RunnerModel.c's training, written once more.
struct Expected {
  /// One step on four samples; the loss.
  double step(const Samples &samples, const uint64_t *rows) {
    float gradient[3] = {};
    double loss = 0;
    for (int i = 0; i < 4; ++i) {
      const float *x = &samples.x[rows[i] * 3];
      float difference =
          x[0] * weight[0] + x[1] * weight[1] + x[2] * weight[2] - samples.label[rows[i]];
      loss += double(difference * difference) / 4;
      for (int j = 0; j < 3; ++j)
        gradient[j] += 2 * difference * x[j] / 4;
    }
    for (int j = 0; j < 3; ++j) {
      momentum[j] = 0.5f * momentum[j] + gradient[j];
      weight[j] -= 0.01f * momentum[j];
    }
    return loss;
  }
  std::vector<float> weight = runnerModelStart, momentum = {0, 0, 0};
};

TEST_F(TrainLoop, TakesBatchesInOrderAndWrapsDroppingTheRest) {
  options.steps = 12;
  options.shuffle = false;
  options.log = folder / "log.jsonl";
  EXPECT_EQ(train(options), 0);
  Expected expected;
  std::vector<nlohmann::json> lines = log();
  ASSERT_EQ(lines.size(), 12u);
  for (uint64_t step = 0; step < 12; ++step) {
    uint64_t first = step % 5 * 4;
    const uint64_t rows[] = {first, first + 1, first + 2, first + 3};
    EXPECT_FLOAT_EQ(lines[step]["loss"], expected.step(samples, rows));
  }
  for (int j = 0; j < 3; ++j)
    EXPECT_FLOAT_EQ(weight()[j], expected.weight[j]);
}

TEST_F(TrainLoop, ShufflesEachEpochAnew) {
  options.epochs = 3;
  options.seed = 5;
  options.log = folder / "log.jsonl";
  EXPECT_EQ(train(options), 0);
  Expected expected;
  std::vector<nlohmann::json> lines = log();
  ASSERT_EQ(lines.size(), 15u);
  std::vector<uint64_t> order(22);
  for (uint64_t step = 0; step < 15; ++step) {
    if (step % 5 == 0)
      shuffleSamples(order, 5, step / 5);
    EXPECT_FLOAT_EQ(lines[step]["loss"], expected.step(samples, &order[step % 5 * 4]));
  }
}

// Two micro-batches of four are one batch of eight.
TEST_F(TrainLoop, RunsMicroBatches) {
  options.steps = 4;
  options.shuffle = false;
  options.log = folder / "log.jsonl";
  EXPECT_EQ(train(options, "RunnerModelAccumulating"), 0);
  std::vector<nlohmann::json> lines = log();
  ASSERT_EQ(lines.size(), 4u);
  double loss = 0;
  for (int i = 0; i < 8; ++i) {
    const float *x = &samples.x[i * 3];
    float difference = x[0] * runnerModelStart[0] + x[1] * runnerModelStart[1] +
                       x[2] * runnerModelStart[2] - samples.label[i];
    loss += double(difference * difference) / 8;
  }
  EXPECT_FLOAT_EQ(lines[0]["loss"], loss);
  // 22 samples are two batches of eight; the model shows the counter "epoch" as grad_norm.
  std::vector<double> epochs;
  for (const nlohmann::json &line : lines)
    epochs.push_back(line["grad_norm"]);
  EXPECT_EQ(epochs, (std::vector<double>{0, 0, 1, 1}));
}

TEST_F(TrainLoop, SetsHyperparameters) {
  options.steps = 1;
  options.set = {"lr=0.5"};
  options.log = folder / "log.jsonl";
  train(options);
  EXPECT_EQ(log()[0]["lr"], 0.5);
  options.set = {"lr=0.5", "momentum=0.9"};
  EXPECT_ERROR(train(options), "--set: no hyperparameter of the model is called 'momentum'\n"
                               "  there are: lr");
  for (const char *bad : {"lr=", "lr", "lr=fast", "lr=1e-3x", "lr=nan", "lr=inf"}) {
    options.set = {bad};
    EXPECT_ERROR(train(options), "--set: ");
  }
  options.set = {"lr=-0.5"};
  EXPECT_ERROR(train(options), "--set: lr must not be negative (got -0.5)");
  options.set = {"lr=0"};
  train(options);
}

TEST_F(TrainLoop, LogsAsDocumented) {
  options.steps = 2;
  options.log = folder / "log.jsonl";
  options.validate = options.data;
  train(options);
  std::string text = readFile(options.log);
  EXPECT_EQ(text.find(R"({"event":"step","step":1,"epoch":1,"loss":)"), 0u);
  EXPECT_NE(text.find(R"(,"lr":0.01,"scale":65536,"grad_norm":1.25,"skipped":false,"time":)"),
            std::string::npos);
  std::vector<nlohmann::json> lines = log();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].size(), 9u);
  EXPECT_EQ(lines[0]["loss"].get<double>(), session->record(0).loss); // every bit
  EXPECT_EQ(lines[2]["event"], "validate");
  EXPECT_EQ(lines[2]["step"], 2);
  EXPECT_EQ(lines[2]["samples"], 20);
  EXPECT_TRUE(lines[2].contains("loss") && lines[2].contains("mae"));
}

TEST_F(TrainLoop, ValidatesAtTheEndOfEachEpochAndOnceAtTheEnd) {
  options.log = folder / "log.jsonl";
  options.validate = options.data;
  options.metrics = {"mae"};
  auto validations = [&] {
    train(options);
    std::vector<int> steps;
    for (const nlohmann::json &line : log())
      if (line["event"] == "validate") {
        steps.push_back(line["step"]);
        EXPECT_FALSE(line.contains("loss"));
      }
    return steps;
  };
  options.epochs = 2;
  EXPECT_EQ(validations(), (std::vector<int>{5, 10}));
  options.epochs = std::nullopt;
  options.steps = 7;
  EXPECT_EQ(validations(), (std::vector<int>{5, 7}));
}

// Evaluation runs on the same session: it must leave training as it was.
TEST_F(TrainLoop, ValidationDoesNotChangeTheTraining) {
  options.epochs = 4;
  train(options);
  std::vector<float> without = weight();
  options.validate = options.data;
  train(options);
  EXPECT_EQ(weight(), without);
}

TEST_F(TrainLoop, AStepAllocatesNothing) {
  auto allocationsOf = [&](uint64_t steps) {
    options.steps = steps;
    return countAllocations([&] { train(options); });
  };
  for (bool shuffle : {false, true}) {
    options.shuffle = shuffle;
    allocationsOf(10);
    EXPECT_EQ(allocationsOf(10), allocationsOf(1000)) << shuffle;
  }
}

TEST_F(TrainLoop, ANonFiniteLossEndsTheRunAndSavesNothing) {
  samples.label[9] = NAN;
  writeNpy(folder / "label.npy", samples.label);
  options.steps = 12;
  options.shuffle = false;
  options.save = folder / "a.safetensors";
  options.log = folder / "log.jsonl";
  try {
    train(options);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.exitCode(), 3);
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, "the loss of step 3 is not a number", error.what());
  }
  EXPECT_FALSE(std::filesystem::exists(options.save));
  std::vector<nlohmann::json> lines = log();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2]["loss"], "NaN");
}

// The model takes an infinite loss for an overflow of the scaled loss.
TEST_F(TrainLoop, ASkippedUpdateEndsNothing) {
  samples.label[9] = INFINITY;
  writeNpy(folder / "label.npy", samples.label);
  options.steps = 5;
  options.shuffle = false;
  options.log = folder / "log.jsonl";
  EXPECT_EQ(train(options), 0);
  EXPECT_EQ(log()[2]["skipped"], true);
  EXPECT_EQ(log()[2]["loss"], "Infinity");
  EXPECT_EQ(log()[3]["skipped"], false);
}

} // namespace

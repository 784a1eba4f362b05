//===- run_start_test.cpp - Runs that continue, and what they may not overwrite ---------------===//

#include "TrainLoopTest.h"
#include "runtime/Checkpoint.h"

#include <cmath>

using namespace halfstep::runtime;

namespace {

using RunStart = TrainLoopTest;

TEST_F(RunStart, ResumesBitForBit) {
  for (const char *variant : {"RunnerModel", "RunnerModelAccumulating"})
    for (bool shuffle : {false, true})
      for (uint64_t half : {1, 7, 20, 50}) {
        options.shuffle = shuffle;
        options.seed = 3;
        options.force = true;
        options.steps = 50;
        options.save = folder / "whole.safetensors";
        train(options, variant);

        options.steps = half;
        options.save = folder / "half.safetensors";
        train(options, variant);
        RunOptions resumed = options;
        resumed.steps = 50;
        resumed.resume = options.save;
        // Both follow from the checkpoint.
        resumed.seed = std::nullopt;
        resumed.shuffle = std::nullopt;
        train(resumed, variant);
        EXPECT_EQ(readFile(folder / "whole.safetensors"), readFile(folder / "half.safetensors"))
            << variant << " " << shuffle << " " << half;
      }
}

TEST_F(RunStart, EpochsAreTotals) {
  options.epochs = 2;
  options.save = folder / "a.safetensors";
  train(options);
  options.resume = options.save;
  options.epochs = 3;
  options.log = folder / "log.jsonl";
  train(options);
  std::vector<nlohmann::json> lines = log();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0]["step"], 11);
  EXPECT_EQ(lines[0]["epoch"], 3);
  // Nothing is left: not an error, and the state stays.
  std::string before = readFile(options.save);
  EXPECT_EQ(train(options), 0);
  EXPECT_EQ(readFile(options.save), before);
}

TEST_F(RunStart, ResumingChecksSeedAndOrder) {
  options.steps = 3;
  options.seed = 4;
  options.save = folder / "a.safetensors";
  train(options);
  options.resume = options.save;
  options.seed = 5;
  EXPECT_ERROR(train(options), "--seed: ");
  EXPECT_ERROR(train(options), "was made with seed 4, not 5\nhelp: leave it out");
  options.seed = 4;
  options.shuffle = false;
  EXPECT_ERROR(train(options), "was made with shuffle true, not false");
}

TEST_F(RunStart, ADamagedPositionIsAnError) {
  options.steps = 3;
  options.save = folder / "a.safetensors";
  train(options);
  for (double iteration : {-1.0, 0.5, double(NAN), 1e300}) {
    session->writeScalar(*session->find(HS_COUNTER, "iteration"), iteration);
    saveCheckpoint(*session, options.save, {});
    RunOptions resumed = options;
    resumed.resume = options.save;
    auto other = startRunnerModel();
    std::string weights = runnerModelWeights();
    EXPECT_ERROR(runTraining(*other, Safetensors::parse("weights", weights), resumed, {}),
                 "its position in the training is damaged");
  }
}

TEST_F(RunStart, StartsAnewFromWeights) {
  options.steps = 5;
  options.save = folder / "a.safetensors";
  train(options);
  std::vector<float> trained = weight();

  RunOptions anew = options;
  anew.weights = options.save;
  anew.save = folder / "b.safetensors";
  anew.steps = 1;
  anew.set = {"lr=0"};
  train(anew);
  EXPECT_EQ(weight(), trained);
  EXPECT_EQ(session->readScalar(*session->find(HS_COUNTER, "iteration")), 1);
}

TEST_F(RunStart, ResumingAppendsToTheLog) {
  options.steps = 2;
  options.log = folder / "log.jsonl";
  options.save = folder / "a.safetensors";
  train(options);
  options.resume = options.save;
  options.steps = 3;
  train(options);
  std::vector<nlohmann::json> lines = log();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2]["step"], 3);
}

TEST_F(RunStart, SavesEveryNSteps) {
  options.steps = 3;
  options.save = folder / "whole.safetensors";
  train(options);
  // A run that breaks down at step 5 leaves the checkpoint of step 3.
  samples.label[17] = NAN;
  writeNpy(folder / "label.npy", samples.label);
  options.shuffle = false;
  options.force = true;
  options.steps = 3;
  train(options);
  std::string atThree = readFile(options.save);
  options.save = folder / "every.safetensors";
  options.saveEvery = 3;
  options.steps = 100;
  EXPECT_ERROR(train(options), "the loss of step 5");
  EXPECT_EQ(readFile(options.save), atThree);
}

TEST_F(RunStart, NoOutputIsAnInput) {
  options.steps = 1;
  options.force = true;
  std::filesystem::create_symlink(folder / "x.npy", folder / "link");
  std::filesystem::create_hard_link(folder / "label.npy", folder / "hard");
  std::string before = readFile(folder / "x.npy");
  for (const std::string &path :
       {folder / "x.npy", folder.path + "/./x.npy", folder / "link", folder / "hard"}) {
    options.save = path;
    EXPECT_ERROR(train(options), "--save: " + path + " is also read");
    options.save.clear();
    options.log = path;
    EXPECT_ERROR(train(options), "--log: " + path + " is also read");
    options.log.clear();
  }
  options.save = options.log = folder / "same";
  EXPECT_ERROR(train(options), "--log: ");
  options.log.clear();
  std::filesystem::rename(folder / "x.npy", folder / "x.part");
  options.data[0] = "x=" + folder / "x.part";
  options.save = folder / "x"; // would grow as x.part
  EXPECT_ERROR(train(options), "x.part is also read");
  EXPECT_EQ(readFile(folder / "x.part"), before);
}

} // namespace

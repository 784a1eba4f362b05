//===- runner_test.cpp - Training executables from outside ------------------------------------===//
//
// Exit codes, output and messages of whole processes: what users and scripts meet.
//
//===------------------------------------------------------------------------------------------===//

#include "RunnerTest.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <regex>

using namespace halfstep::runtime;

namespace {

/// A folder with executables OUT and CLASSES, and data that fit.
class Runner : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    writeExecutable(*folder / "OUT");
    writeExecutable(*folder / "CLASSES", "RunnerModelClasses");
    Samples samples(22);
    writeNpy(*folder / "x.npy", samples.x, {3});
    writeNpy(*folder / "label.npy", samples.label);
    std::vector<int64_t> classes(22, 1);
    writeNpy(*folder / "classes.npy", classes);
    classes[2] = 3;
    writeNpy(*folder / "three.npy", classes);
  }
  static void TearDownTestSuite() { delete folder; }

  static Outcome run(const std::string &command) { return runIn(*folder, command); }

  static inline TemporaryFolder *folder = nullptr;
};

const std::string data = " --data x=x.npy --data label=label.npy ";

TEST_F(Runner, TrainsAndSaves) {
  Outcome outcome = run("./OUT --epochs 3 --save trained.safetensors" + data);
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_EQ(outcome.output, ""); // stdout is for data
  EXPECT_TRUE(std::regex_match(
      outcome.errors, std::regex("(epoch [123]/3  loss [0-9.e-]+  [0-9]+ samples/s\n){3}")));
  EXPECT_TRUE(std::filesystem::exists(*folder / "trained.safetensors"));
  EXPECT_EQ(run("./OUT --epochs 3 --quiet" + data).errors, "");
}

TEST_F(Runner, ThreadsDoNotMatter) {
  run("./OUT --steps 20 --quiet --threads 1 --save one.safetensors" + data);
  run("./OUT --steps 20 --quiet --threads 2 --save two.safetensors" + data);
  EXPECT_EQ(readFile(*folder / "one.safetensors"), readFile(*folder / "two.safetensors"));
  EXPECT_NE(readFile(*folder / "one.safetensors"), "");
}

TEST_F(Runner, EvaluatesAsJson) {
  Outcome outcome = run("./OUT --evaluate" + data);
  EXPECT_EQ(outcome.exitCode, 0);
  nlohmann::json metrics = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(metrics["samples"], 20);
  EXPECT_EQ(metrics.size(), 3u);
  EXPECT_GT(metrics["loss"], 0);
  EXPECT_EQ(outcome.errors,
            "halfstep: warning: x.npy: the last 2 of 22 samples do not fill a batch "
            "of 4 and are not evaluated\n");
  outcome = run("./OUT --evaluate --quiet --metric mae --metric mae" + data);
  EXPECT_EQ(nlohmann::json::parse(outcome.output)["mae"], metrics["mae"]);
  EXPECT_EQ(nlohmann::json::parse(outcome.output).size(), 2u);
  EXPECT_EQ(outcome.errors, "");

  // Training from these weights begins with the loss of its first batches.
  run("./OUT --steps 30 --quiet --save better.safetensors --force" + data);
  outcome = run("./OUT --evaluate --quiet --weights better.safetensors" + data);
  EXPECT_LT(nlohmann::json::parse(outcome.output)["loss"], metrics["loss"]);
}

TEST_F(Runner, InfersAllSamples) {
  Outcome outcome = run("./OUT --infer --data x=x.npy --out deep/er");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_EQ(outcome.output + outcome.errors, "");
  std::string file = readFile(*folder / "deep/er/%2Fout%2Fy.npy");
  NpyHeader header = parseNpyHeader("y", file);
  ASSERT_EQ(header.shape, std::vector<int64_t>{22});
  Samples samples(22);
  for (size_t i = 0; i < 22; ++i) {
    float y;
    std::memcpy(&y, file.data() + header.dataOffset + i * 4, 4);
    const float *x = &samples.x[i * 3], *w = runnerModelStart.data();
    EXPECT_FLOAT_EQ(y, x[0] * w[0] + x[1] * w[1] + x[2] * w[2]);
  }
}

TEST_F(Runner, DescribesItself) {
  std::string text = run("./OUT --describe").output;
  for (const char *part :
       {"optimizer               sgd:lr=0.01", "x                       F32[4, 3]",
        "parameters, 3 elements\n  w                       F32[3]\n",
        "lr                      F64[] = 0.01"})
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, text);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "class ids below 3",
                      run("./CLASSES --describe").output);
}

TEST_F(Runner, ExplainsItself) {
  Outcome help = run("./OUT --help");
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "Example: ./OUT --epochs", help.output);
  EXPECT_TRUE(
      std::regex_match(run("./OUT --version").output, std::regex("halfstep \\d+\\.\\d+\\.\\d+\n")));
  std::string licences = run("./OUT --licenses").output;
  for (const char *part : {"Apache License", "University of Cincinnati", "Niels Lohmann"})
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, licences);
}

/// A shell command that starts an endless training, waits until it is in its loop (the log is
/// opened last before it), does `action`, and waits for its end.
std::string whileTraining(const std::string &options, const std::string &action) {
  return "rm -f log.jsonl; ./OUT --steps 9000000000 --log log.jsonl " + options +
         " & until test -e log.jsonl; do sleep 0.01; done; " + action + "; wait $!";
}

TEST_F(Runner, SavesAndStopsOnInterrupt) {
  Outcome outcome = run(whileTraining("--save stopped.safetensors" + data, "kill -INT $!"));
  EXPECT_EQ(outcome.exitCode, 130);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      " of 9000000000; continue with --resume stopped.safetensors\n",
                      outcome.errors);
  std::string log = readFile(*folder / "log.jsonl");
  size_t steps = std::count(log.begin(), log.end(), '\n');
  Safetensors saved = Safetensors::open(*folder / "stopped.safetensors");
  double iteration;
  std::memcpy(&iteration, saved.find("halfstep/iteration")->data, sizeof iteration);
  EXPECT_EQ(iteration, double(steps));

  outcome = run("./OUT --steps 1 --resume stopped.safetensors" + data);
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_EQ(outcome.errors, "halfstep: stopped.safetensors is at step " + std::to_string(steps) +
                                ": nothing is left to train\n");
}

TEST_F(Runner, ATruncatedFileEndsTheRun) {
  std::filesystem::copy_file(*folder / "x.npy", *folder / "shrinking.npy");
  Outcome outcome =
      run(whileTraining("--data x=shrinking.npy --data label=label.npy --save unsaved.safetensors",
                        ": > shrinking.npy"));
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "halfstep: error: shrinking.npy: it was truncated while it was in use",
                      outcome.errors);
  EXPECT_FALSE(std::filesystem::exists(*folder / "unsaved.safetensors"));
}

//===------------------------------------------------------------------------------------------===//
// Bad input
//===------------------------------------------------------------------------------------------===//

struct BadInput {
  std::string command; // behind ./OUT
  int exitCode;
  const char *message; // a regular expression for all that is said on stderr
};

TEST_F(Runner, AnswersBadInputWithOneClearError) {
  std::string file = readFile(*folder / "x.npy");
  writeFile(*folder / "cut.npy", file.substr(0, file.size() - 1));
  writeFile(*folder / "empty.npy", "");
  writeFile(*folder / "text.npy", "once upon a time");
  writeFile(*folder / "cut.safetensors", "\x10");
  writeNpy(*folder / "few.x.npy", Samples(3).x, {3});
  writeNpy(*folder / "few.label.npy", Samples(3).label);
  writeNpy(*folder / "wide.npy", std::vector<float>(88), {4});
  writeNpy(*folder / "nan.npy", std::vector<float>(22, NAN));
  run("./OUT --steps 1 --quiet --save saved.safetensors" + data);
  const std::string train = "--steps 3 --quiet" + data;
  const BadInput cases[] = {
      // Usage
      {"--steps 3", 2,
       "--data: no data for x, label\nhelp: add --data x=FILE.npy --data label=FILE"},
      {"--steps 3 --data x=x.npy", 2, "--data: no data for label\nhelp: "},
      {"--data x=x.npy --data label=label.npy", 2, "it is not said how long to train\nhelp: "},
      {"--steps 3 --epochs 2" + data, 2, "--epochs excludes --steps"},
      {"--steps 0" + data, 2, "--steps: '0' is not a whole number from 1"},
      {"--steps -1" + data, 2, "--steps: '-1' is not a whole number"},
      {"--steps many" + data, 2, "--steps: 'many' is not a whole number"},
      {"--steps 010" + data, 2, "--steps: '010' is not a whole number"},
      {"--steps 0x10" + data, 2, "--steps: '0x10' is not a whole number"},
      {"--steps 1e3" + data, 2, "--steps: '1e3' is not a whole number"},
      {"--steps 9007199254740993" + data, 2, "--steps: '9007199254740993' is not a whole number"},
      {"--epochs 9007199254740992" + data, 2, "more than 2\\^53 steps cannot be counted"},
      {"--threads 0 " + train, 2, "--threads: '0' is not a whole number from 1 to 4096"},
      {"--seed -1 " + train, 2, "--seed: '-1' is not a whole number"},
      {"--seed 18446744073709551616 " + train, 2, "--seed: '18446744073709551616' is not"},
      {"--stepz 3" + data, 2, "no option is called '--stepz'(.|\n)*did you mean --steps\\?"},
      {"--device 0 " + train, 2, "--device"},
      {train + "stray", 2, "stray"},
      {train + "--data y=x.npy", 2,
       "--data: no input of the model is called 'y'\n  there are: x, label"},
      {train + "--data labels=x.npy", 2, "help: did you mean label\\?"},
      {train + "--data x=x.npy", 2, "--data: the file of x is given twice"},
      {train + "--data x", 2, "--data: 'x' is not NAME=FILE"},
      {train + "--data x=", 2, "--data: 'x=' is not NAME=FILE"},
      {train + "--set l=1", 2, "--set: no hyperparameter of the model is called 'l'"},
      {train + "--set lrr=1", 2, "help: did you mean lr\\?"},
      {train + "--set lr=fast", 2, "--set: lr: 'fast' is not a finite number"},
      {train + "--metric mae", 2, "--metric: there is no held-out data"},
      {train + "--validate x=x.npy", 2, "--validate: no data for label"},
      {train + "--validate x=x.npy --validate label=label.npy --metric maee", 2,
       "--metric: no metric is called 'maee'\n  there are: loss, mae\nhelp: did you mean mae\\?"},
      {train + "--save-every 2", 2, "--save-every requires --save"},
      {train + "--save new --save-every 0", 2, "--save-every"},
      {train + "--resume a --weights b", 2, "--resume|--weights"},
      {train + "--save saved.safetensors", 2, "--save: saved.safetensors exists already\nhelp: "},
      {train + "--save ''", 2, "--save: an empty name"},
      {train + "--log ''", 2, "--log: an empty name"},
      {train + "--weights ''", 2, "--weights: an empty name"},
      {"--infer --out '' --data x=x.npy", 2, "--out: an empty name"},
      {train + "--force --save OUT", 2, "--save: OUT is also read"},
      {train + "--log label.npy", 2, "--log: label.npy is also read"},
      {train + "--resume saved.safetensors --log saved.safetensors", 2, "--log: saved"},
      {train + "--weights saved.safetensors --save ./saved.safetensors", 2, "--save: ./saved"},
      {train + "--resume saved.safetensors --seed 9", 2, "--seed: saved.safetensors was made with"},
      {train + "--out o", 2, "--out: it has no meaning without --infer"},
      {"--evaluate " + train, 2, "--steps: it has no meaning with --evaluate"},
      {"--evaluate --infer" + data, 2, "--infer: it has no meaning with --evaluate"},
      {"--describe --quiet", 2, "--quiet: it has no meaning with --describe"},
      {"--evaluate --metric f1" + data, 2, "--metric: no metric is called 'f1'"},
      {"--infer --data x=x.npy", 2, "--infer: it is not said where the outputs go"},
      {"--infer --out o" + data, 2, "--data: the label is not read here"},
      {"--infer --out o", 2, "--data: no data for x\n"},
      // Data
      {"--steps 3 --data x=none.npy --data label=label.npy", 1, "none.npy: .*No such file"},
      {"--steps 3 --data x=. --data label=label.npy", 1, "\\.: "},
      {"--steps 3 --data x=cut.npy --data label=label.npy", 1,
       "cut.npy: it is truncated: 263 bytes"},
      {"--steps 3 --data x=empty.npy --data label=label.npy", 1,
       "empty.npy: it is not a .npy file"},
      {"--steps 3 --data x=text.npy --data label=label.npy", 1, "text.npy: it is not a .npy file"},
      {"--steps 3 --data x=wide.npy --data label=label.npy", 1,
       "wide.npy: its shape does not fit input x\n  expected \\[samples, 3\\]\n  found    \\[22, "
       "4\\]"},
      {"--steps 3 --data x=x.npy --data label=few.label.npy", 1,
       "few.label.npy: 3 samples, but x.npy holds 22"},
      {"--steps 3 --data x=few.x.npy --data label=few.label.npy", 1,
       "few.x.npy: 3 samples do not fill one batch of 4\nhelp: .*--batch 3 or less"},
      {train + "--validate x=few.x.npy --validate label=few.label.npy", 1,
       "few.x.npy: 3 samples do not fill one batch of 4"},
      {"--evaluate --data x=few.x.npy --data label=few.label.npy", 1, "3 samples do not fill"},
      // Checkpoints and outputs
      {train + "--resume none.safetensors", 1, "none.safetensors: "},
      {train + "--resume x.npy", 1, "x.npy: "},
      {train + "--weights cut.safetensors", 1, "cut.safetensors: "},
      {train + "--save none/new.safetensors", 1, "none/new.safetensors: cannot write"},
      {train + "--save /proc/new.safetensors", 1, "/proc/new.safetensors: cannot write"},
      {train + "--force --save .", 1, "\\.: exists and is not a regular file"},
      {train + "--log none/log.jsonl", 1, "none/log.jsonl: cannot be written"},
      {train + "--log /dev/full", 1, "/dev/full: cannot be written: No space left"},
      {"--infer --data x=x.npy --out /proc/o", 1, "/proc/o: cannot be created"},
      {"--infer --data x=x.npy --out x.npy", 1, "x.npy: "},
      {"--evaluate --quiet" + data + "> /dev/full", 1, "standard output: it cannot be written"},
      // Numbers
      {"--steps 9 --quiet --data x=x.npy --data label=nan.npy", 3,
       "the loss of step \\d is not a number(.|\n)*help: "},
  };
  for (const BadInput &test : cases) {
    Outcome outcome = run("timeout 20 ./OUT " + test.command);
    EXPECT_EQ(outcome.exitCode, test.exitCode) << test.command << "\n" << outcome.errors;
    EXPECT_TRUE(std::regex_search(outcome.errors, std::regex(test.message))) << test.command << "\n"
                                                                             << outcome.errors;
    // One error: a first line in the common form, what follows is indented or help.
    EXPECT_TRUE(std::regex_match(
        outcome.errors, std::regex("halfstep: error: [^\n]*\n(  [^\n]*\n)*(help: [^\n]*\n)?")))
        << test.command << "\n"
        << outcome.errors;
    EXPECT_EQ(outcome.output, "") << test.command;
  }
}

TEST_F(Runner, NamesABadClass) {
  Outcome outcome =
      run("./CLASSES --steps 9 --no-shuffle --quiet --data x=x.npy --data label=three.npy");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_EQ(outcome.errors,
            "halfstep: error: three.npy: sample 2: the class id 3 is not one of the model's 3 "
            "classes\n  class ids run from 0 to 2, and -100 is ignored\n");
  EXPECT_EQ(run("./CLASSES --steps 9 --quiet --data x=x.npy --data label=classes.npy").exitCode, 0);
}

TEST_F(Runner, TheBareRunnerSaysWhatItIs) {
  Outcome outcome = run(RUNNER " --describe");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "it carries no model\nhelp: make a training executable", outcome.errors);
}

} // namespace

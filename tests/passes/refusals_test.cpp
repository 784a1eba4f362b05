//===- refusals_test.cpp - What passes refuse, and in which words ---------===//
//
// One program a message: what the user asks for that the model does not allow, and what no phase
// before the pass would leave.
//
//===----------------------------------------------------------------------===//

#include "PassTest.h"

using namespace halfstep::test;

namespace {

struct Refusal {
  const char *name, *pipeline, *message;
};

void PrintTo(const Refusal &each, std::ostream *os) { *os << each.name; }

std::string nameOf(const ::testing::TestParamInfo<Refusal> &info) { return info.param.name; }

/// Options, on a model of one product.
class RefusedOption : public PassTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedOption, InThoseWords) {
  ASSERT_TRUE(build(
      R"(%x: tensor<4x8xf32> {train.input = "x"}, %w: tensor<8x3xf32> {train.parameter = "w", train.trainable})",
      "%y = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>",
      R"(%y: tensor<4x3xf32> {train.output = "y"})"))
      << errors;
  EXPECT_FALSE(run(GetParam().pipeline));
  EXPECT_EQ(errors, GetParam().message + std::string("\n"));
}

const Refusal kOptions[] = {
    {"Reduction", "append-loss{loss=mse:reduction=most}",
     "--loss: loss mse: reduction must be mean or sum (got most)"},
    {"Smoothing", "append-loss{loss=cross-entropy:label_smoothing=2}",
     "--loss: loss cross-entropy: label_smoothing must lie between 0 and 1 (got 2)"},
    {"Target", "append-loss{loss=cross-entropy:target=names}",
     "--loss: loss cross-entropy: target must be ids or probabilities (got names)"},
    {"IgnoredProbability", "append-loss{loss=cross-entropy:target=probabilities,ignore_index=-1}",
     "--loss: loss cross-entropy: ignore_index goes with class ids, not with target=probabilities "
     "(got -1)"},
    {"IgnoredClass", "append-loss{loss=cross-entropy:ignore_index=2}",
     "--loss: loss cross-entropy: ignore_index must be a number of 32 bits that is no class (got "
     "2)"},
    {"Nesterov", "phase-grad{loss=mse},build-step{optimizer=sgd:nesterov=true}",
     "--optimizer: optimizer sgd: nesterov needs a momentum and no dampening (got true)"},
    {"Unit", "phase-grad{loss=mse},build-step{optimizer=sgd schedule=cosine:t_max=5,unit=year}",
     "--schedule: schedule cosine: unit must be step or epoch (got year)"},
    {"LossScale", "phase-grad{loss=mse},build-step{optimizer=sgd loss-scale=static}",
     "--loss-scale: 'static' is neither dynamic, none nor a number"},
    {"Accumulate", "phase-grad{loss=mse},build-step{optimizer=sgd accumulate=0}",
     "--accumulate must be at least 1"},
    {"Rounding", "phase-grad{loss=mse},build-step{optimizer=sgd rounding=up}",
     "--rounding must be nearest or stochastic, not 'up'"},
};

INSTANTIATE_TEST_SUITE_P(, RefusedOption, ::testing::ValuesIn(kOptions), nameOf);

class Refusals : public PassTest {
protected:
  void expect(llvm::StringRef pipeline, const std::string &message) {
    ASSERT_TRUE(module) << errors;
    EXPECT_FALSE(run(pipeline));
    EXPECT_EQ(errors, message + "\n");
  }
};

TEST_F(Refusals, AModelWithoutFloats) {
  build(R"(%x: tensor<4xi64> {train.input = "x"})", "",
        R"(%x: tensor<4xi64> {train.output = "y"})");
  expect("append-loss{loss=mse}", "the model has no float output to train");
  expect("select-parameters", "the model has no float parameter: there is nothing to train");
}

TEST_F(Refusals, ALossWithoutAModel) {
  build("", "", "", "other");
  expect("append-loss{loss=mse}", "append-loss needs a function @forward");
}

TEST_F(Refusals, AnInputWithTheNameOfTheLabel) {
  build(R"(%x: tensor<4x8xf32> {train.input = "label"})", "",
        R"(%x: tensor<4x8xf32> {train.output = "y"})");
  expect("append-loss{loss=mse}",
         "has an input called label, which is the name of the loss's label");
}

TEST_F(Refusals, TheLossIsOfTheFirstFloatOutput) {
  ASSERT_TRUE(
      build(R"(%n: tensor<4xi64> {train.input = "n"}, %x: tensor<4xf32> {train.input = "x"})",
            "%y = train.neg %x : (tensor<4xf32>) -> tensor<4xf32>",
            R"(%n: tensor<4xi64> {train.output = "n"}, %y: tensor<4xf32> {train.output = "y"})"))
      << errors;
  EXPECT_TRUE(run("append-loss{loss=mse}")) << errors;
  EXPECT_EQ(warnings, "the model has 2 outputs; the loss is of \"y\"\n");
}

TEST_F(Refusals, AParameterBesideTheLossIsNotTrained) {
  ASSERT_TRUE(build(
      R"(%v: tensor<4xf32> {train.parameter = "v", train.trainable}, %w: tensor<4xf32> {train.parameter = "w", train.trainable})",
      R"(%h = train.sign %v : (tensor<4xf32>) -> tensor<4xf32>
         %y = train.mul %h, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
         %loss = train.mean_loss %y : (tensor<4xf32>) -> tensor<f32>)",
      R"(%loss: tensor<f32> {train.metric = "loss"})", "micro"))
      << errors;
  EXPECT_TRUE(run("autodiff")) << errors;
  EXPECT_EQ(warnings, "parameter \"v\" does not reach the loss and is not trained\n");
  EXPECT_EQ(typeOf("micro", "train.gradient", "v"), "");
  EXPECT_EQ(typeOf("micro", "train.gradient", "w"), "4xf32");
}

TEST_F(Refusals, AnOpWithoutAGradientRule) {
  build(R"(%w: tensor<4xf32> {train.parameter = "w", train.trainable})",
        R"(%y = table.copy %w : (tensor<4xf32>) -> tensor<4xf32>
           %loss = train.mean_loss %y : (tensor<4xf32>) -> tensor<f32>)",
        R"(%loss: tensor<f32> {train.metric = "loss"})", "micro");
  expect("autodiff", "has no gradient rule");
  EXPECT_EQ(notes, "'table.copy' has no gradient rule\n"
                   "help: freeze the parameters in front of it (--freeze), or replace it\n");
}

TEST_F(Refusals, ALaunchOfWhatIsNoKernel) {
  build("%x: tensor<4xf32>", "%y = table.launch @infer(%x) : (tensor<4xf32>) -> tensor<4xf32>",
        "%y: tensor<4xf32>", "infer");
  expect("verify-phase{phase=kernels}",
         "the kernels phase left a kernel that does not fit its tensors");
  EXPECT_NE(notes.find("verify-phase: @infer: is no kernel\n"), std::string::npos) << notes;
}

TEST_F(Refusals, ProductsThatNoLibraryHas) {
  parse(R"(
    table.tensor input "x" : tensor<2x1x3x4xf32>
    table.tensor input "w" : tensor<2x5x4x3xf32>
    func.func @infer(%x: tensor<2x1x3x4xf32> {train.input = "x"},
                     %w: tensor<2x5x4x3xf32> {train.input = "w"}) {
      %y = table.gemm %x, %w : (tensor<2x1x3x4xf32>, tensor<2x5x4x3xf32>) -> tensor<2x5x3x3xf32>
      return
    })");
  expect("plan-memory",
         "'table.gemm' op repeats an operand along some of the batch dimensions only");
  parse(R"(
    table.tensor input "x" : tensor<3x3xi16>
    func.func @infer(%x: tensor<3x3xi16> {train.input = "x"}) {
      %y = table.gemm %x, %x : (tensor<3x3xi16>, tensor<3x3xi16>) -> tensor<3x3xi16>
      return
    })");
  expect("plan-memory", "'table.gemm' op has no storage type for 'tensor<3x3xi16>'");
}

} // namespace

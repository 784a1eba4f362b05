//===- DropoutRulesTest.cpp - Dropout -------------------------------------===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

/// A Dropout that trains, of which the ratio is structure and no parameter.
Model trainingDropout(float ratio, Names outputs = {"y", "mask"}) {
  Model model(13);
  onnx::TensorProto yes;
  yes.set_name("training");
  yes.set_data_type(boolean);
  yes.add_int32_data(1);
  model.input("x", {3, 4}).initializer(floatTensor({}, {ratio}, "ratio")).initializer(yes);
  model.node("Dropout", {"x", "ratio", "training"}, outputs).output("y");
  return outputs.size() > 1 ? model.output("mask", boolean) : model;
}

TEST(Rules, DropoutInInferenceFormIsTheIdentity) {
  for (int64_t opset : {7, 10, 12, 13, 22})
    EXPECT_TRUE(contains(importNode(opset, "Dropout", {{3}}), {"{", "return %arg0"})) << opset;
  Model model = trainingDropout(0);
  std::string text = import(model);
  EXPECT_TRUE(contains(text, {"dense<true> : tensor<3x4xi1>", "return %arg0, %cst"}));
  EXPECT_FALSE(contains(text, {"train.parameter"}));
}

TEST(Rules, DropoutInTrainingFormDraws) {
  Model model = trainingDropout(0.25f);
  std::string text = import(model);
  EXPECT_TRUE(contains(text, {"%0 = train.random_bits 0 in [3, 4] : tensor<3x4xi32>",
                              "train.dropout %arg0, %0 {ratio = 2.500000e-01 : f64}",
                              "train.dropout_mask %0 {ratio = 2.500000e-01 : f64}"}));
  EXPECT_FALSE(contains(text, {"train.parameter"}));
  Model unmasked = trainingDropout(1, {"y"});
  text = import(unmasked);
  EXPECT_TRUE(contains(text, {"train.dropout %arg0, %0 {ratio = 1.000000e+00 : f64}"}));
  EXPECT_FALSE(contains(text, {"train.dropout_mask"}));
}

/// Every node draws from a stream of its own; an absent ratio is a half.
TEST(Rules, DropoutsAreIndependent) {
  Model model = trainingDropout(0.25f, {"h"});
  model.graph().mutable_output()->Clear();
  model.node("Dropout", {"h", "", "training"}, {"z"}).output("z");
  EXPECT_TRUE(contains(
      import(model), {"train.random_bits 0 in", "train.random_bits 1 in", "ratio = 5.000000e-01"}));
}

TEST(Rules, DropoutNeedsAProbability) {
  for (auto [ratio, text] : {std::pair{-0.5f, "-0.5"}, {1.5f, "1.5"}, {NAN, "NaN"}}) {
    Model model = trainingDropout(ratio);
    EXPECT_TRUE(contains(import(model), {"y_node: Dropout: its ratio is " + std::string(text) +
                                         ", which is no probability"}));
  }
}

TEST(Rules, DropoutThatWouldDropIsAWarning) {
  Model model(11);
  model.input("x", {3}).node("Dropout", {"x"}, {"y"}).output("y");
  TemporaryFolder folder;
  Imported imported(folder.write("m.onnx", model.proto.SerializeAsString()));
  EXPECT_TRUE(imported.model.has_value());
  EXPECT_TRUE(contains(imported.diagnostics, {"y_node: warning: this Dropout is in its inference "
                                              "form: nothing is dropped in training"}));
}

} // namespace

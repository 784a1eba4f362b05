//===- NormRulesTest.cpp - Norms in every form that ONNX gave them --------===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

TEST(LayerNorm, OverTheLastDimensionsFromAxis) {
  for (int64_t opset : {17, 21, 28}) {
    EXPECT_TRUE(contains(importWithWeights(opset, "LayerNormalization", {2, 3, 4}, {{4}, {4}}),
                         {"train.normalise %arg0, %arg1, %arg2 {axes = array<i64: 2>, epsilon = "
                          "1.000000e-05 : f64}",
                          "-> tensor<2x3x4xf32>"}))
        << opset;
    EXPECT_TRUE(contains(importWithWeights(opset, "LayerNormalization", {2, 3, 4}, {{3, 4}, {4}},
                                           {{"axis", 1}, {"epsilon", 0.5f}, {"stash_type", 1}}),
                         {"train.normalise", "axes = array<i64: 1, 2>, epsilon = 5.000000e-01"}))
        << opset;
  }
  // Without a bias it is 0; statistics that nothing reads are not computed.
  EXPECT_TRUE(contains(importWithWeights(17, "LayerNormalization", {3, 4}, {{4}}, {{"axis", -2}}),
                       {"dense<0.000000e+00> : tensor<f32>",
                        "train.normalise %arg0, %arg1, %cst {axes = array<i64: 0, 1>", "return"}));
}

TEST(LayerNorm, StatisticsAsOutputs) {
  std::string text = importWithWeights(17, "LayerNormalization", {2, 3, 4}, {{4}, {4}},
                                       {{"axis", 1}}, {"y", "mean", "deviation"});
  EXPECT_TRUE(contains(text, {"train.normalise",
                              "train.mean %arg0 {axes = array<i64: 1, 2>, "
                              "train.category = 3 : i32}",
                              "-> tensor<2x1x1xf32>", "train.rsqrt", "-> tensor<2x1x1xf32>"}));
  text = importWithWeights(17, "LayerNormalization", {2, 4}, {{4}}, {}, {"y", "", "deviation"});
  EXPECT_TRUE(contains(text, {"train.normalise", "train.rsqrt"}));
}

TEST(LayerNorm, Refusals) {
  EXPECT_TRUE(
      contains(importWithWeights(17, "LayerNormalization", {2, 4}, {{4}}, {{"stash_type", 16}}),
               {"y_node: LayerNormalization: has stash_type 16, but its statistics are computed in "
                "f32: only stash_type 1 is supported"}));
  EXPECT_TRUE(contains(importWithWeights(17, "LayerNormalization", {2, 4}, {{4}}, {{"axis", 2}}),
                       {"LayerNormalization: axis 2 is not a dimension of a tensor of rank 2"}));
  EXPECT_TRUE(contains(importWithWeights(17, "LayerNormalization", {2, 4}, {{3}}),
                       {"LayerNormalization: 'train.normalise' cannot broadcast [3] and [2x4]"}));
  EXPECT_TRUE(contains(importWithWeights(17, "LayerNormalization", {1, 4}, {{2, 4}}),
                       {"LayerNormalization: 'train.normalise' cannot broadcast [2x4] to [1x4]"}));
}

TEST(RmsNorm, OverTheLastDimensionsFromAxis) {
  for (int64_t opset : {23, 28})
    EXPECT_TRUE(contains(importWithWeights(opset, "RMSNormalization", {2, 3, 4}, {{3, 4}},
                                           {{"axis", 1}, {"epsilon", 0.25f}}),
                         {"train.rms_normalise %arg0, %arg1 {axes = array<i64: 1, 2>, epsilon = "
                          "2.500000e-01 : f64}"}));
  EXPECT_TRUE(
      contains(importWithWeights(23, "RMSNormalization", {2, 4}, {{4}}, {{"stash_type", 10}}),
               {"RMSNormalization: has stash_type 10"}));
}

TEST(GroupNorm, HadAScaleForEachGroupBeforeOperatorSet21) {
  const std::vector<Attribute> groups = {{"num_groups", 2}};
  for (int64_t opset : {18, 20})
    EXPECT_TRUE(
        contains(importWithWeights(opset, "GroupNormalization", {3, 4, 5, 6}, {{2}, {2}}, groups),
                 {"train.reshape %arg0 {sizes = array<i64: 3, 2, 2, 5, 6>}",
                  "train.reshape %arg1 {sizes = array<i64: 2, 1, 1, 1>}", "train.normalise",
                  "axes = array<i64: 2, 3, 4>", "train.reshape", "-> tensor<3x4x5x6xf32>"}))
        << opset;
  for (int64_t opset : {21, 28})
    EXPECT_TRUE(
        contains(importWithWeights(opset, "GroupNormalization", {3, 4, 5, 6}, {{4}, {4}}, groups),
                 {"train.reshape %arg1 {sizes = array<i64: 2, 2, 1, 1>}", "train.normalise",
                  "axes = array<i64: 2, 3, 4>"}))
        << opset;
  EXPECT_TRUE(contains(importWithWeights(18, "GroupNormalization", {3, 4, 5}, {{4}, {4}}, groups),
                       {"GroupNormalization: needs a scale and a bias of 2 elements"}));
  EXPECT_TRUE(contains(importWithWeights(21, "GroupNormalization", {3, 4, 5}, {{4}, {2}}, groups),
                       {"GroupNormalization: needs a scale and a bias of 4 elements"}));
  EXPECT_TRUE(contains(
      importWithWeights(21, "GroupNormalization", {3, 4, 5}, {{4}, {4}}, {{"num_groups", 3}}),
      {"GroupNormalization: has 4 channels, which do not divide into 3 groups"}));
  EXPECT_TRUE(contains(
      importWithWeights(21, "GroupNormalization", {3, 4, 5}, {{4}, {4}}, {{"num_groups", 0}}),
      {"which do not divide into 0 groups"}));
}

TEST(InstanceNorm, OverTheSpatialDimensions) {
  for (int64_t opset : {7, 8, 17, 21, 22, 28})
    EXPECT_TRUE(
        contains(importWithWeights(opset, "InstanceNormalization", {2, 3, 4, 5}, {{3}, {3}}),
                 {"train.reshape %arg1 {sizes = array<i64: 3, 1, 1>}", "train.normalise %arg0",
                  "axes = array<i64: 2, 3>", "train.category = 4 : i32"}))
        << opset;
  EXPECT_TRUE(contains(importWithWeights(17, "InstanceNormalization", {2, 3}, {{3}, {3}}),
                       {"InstanceNormalization: needs an operand of rank 3 or more"}));
  EXPECT_TRUE(contains(importWithWeights(17, "InstanceNormalization", {2, 3, 4}, {{4}, {4}}),
                       {"InstanceNormalization: needs a scale and a bias of 3 elements"}));
}

TEST(MeanVarianceNorm, OverBatchAndSpaceUnlessAxesSayOtherwise) {
  for (int64_t opset : {9, 12, 13, 28}) {
    EXPECT_TRUE(contains(importWithWeights(opset, "MeanVarianceNormalization", {2, 3, 4, 5}, {}),
                         {"train.normalise", "axes = array<i64: 0, 2, 3>"}));
    EXPECT_TRUE(contains(
        importWithWeights(opset, "MeanVarianceNormalization", {2, 3}, {}, {{"axes", Ints{-1}}}),
        {"train.normalise", "axes = array<i64: 1>"}));
  }
  EXPECT_TRUE(contains(importWithWeights(13, "MeanVarianceNormalization", {2, 3}, {}),
                       {"axis 2 is not a dimension of a tensor of rank 2"}));
}

TEST(LpNorm, OfFirstAndSecondOrder) {
  for (int64_t opset : {7, 21, 22, 28}) {
    EXPECT_TRUE(contains(importWithWeights(opset, "LpNormalization", {2, 3}, {}),
                         {"train.norm %arg0 {axes = array<i64: 1>, train.category = 3 : i32}",
                          "train.compare eq", "train.select", "train.div %arg0"}));
    EXPECT_TRUE(
        contains(importWithWeights(opset, "LpNormalization", {2, 3}, {}, {{"p", 1}, {"axis", 0}}),
                 {"train.abs", "train.sum", "axes = array<i64: 0>", "train.div %arg0"}));
  }
  EXPECT_TRUE(contains(importWithWeights(17, "LpNormalization", {2, 3}, {}, {{"p", 3}}),
                       {"LpNormalization: has p = 3; ONNX defines 1 and 2"}));
}

TEST(BatchNorm, InInferenceFormHasStatisticsThatAreNotTrained) {
  for (int64_t opset : {7, 8, 9, 13, 14, 15, 28})
    EXPECT_TRUE(
        contains(importWithWeights(opset, "BatchNormalization", {2, 3, 4}, {{3}, {3}, {3}, {3}}),
                 {"{train.parameter = \"w1\", train.trainable}",
                  "{train.parameter = \"w2\", train.trainable}", "{train.parameter = \"w3\"}",
                  "{train.parameter = \"w4\"}", "train.reshape %arg4 {sizes = array<i64: 3, 1>}",
                  "train.batch_norm %arg0", "epsilon = 1.000000e-05"}))
        << opset;
  Model model(15);
  model.input("x", {2, 3}, f16).weight("s", {3}).weight("b", {3}).weight("m", {3}).weight("v", {3});
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}).output("y", f16);
  EXPECT_TRUE(contains(import(model), {"train.cast %arg0 to f32", "train.batch_norm",
                                       "to f16 : (tensor<2x3xf32>)"}));
}

TEST(BatchNorm, OverTheBatchIsRefused) {
  EXPECT_TRUE(contains(importWithWeights(14, "BatchNormalization", {2, 3, 4}, {{3}, {3}, {3}, {3}},
                                         {{"training_mode", 1}}, {"y", "m", "v"}),
                       {"y_node: BatchNormalization: normalises with the statistics of each batch "
                        "(training_mode=1), which is not supported: export it with its running "
                        "statistics (BatchNorm modules in eval(), "
                        "training=TrainingMode.PRESERVE)"}));
  EXPECT_TRUE(contains(importWithWeights(9, "BatchNormalization", {2, 3, 4}, {{3}, {3}, {3}, {3}},
                                         {}, {"y", "m", "v", "sm", "sv"}),
                       {"normalises with the statistics of each batch"}));
  EXPECT_TRUE(contains(
      importWithWeights(7, "BatchNormalization", {2, 3, 4}, {{3}, {3}, {3}, {3}}, {{"spatial", 0}}),
      {"BatchNormalization: has spatial=0, statistics for every element"}));
  EXPECT_TRUE(contains(importWithWeights(15, "BatchNormalization", {2, 3, 4}, {{3}, {3}, {4}, {3}}),
                       {"needs scale, bias, mean and variance of 3 elements, not "}));
}

} // namespace

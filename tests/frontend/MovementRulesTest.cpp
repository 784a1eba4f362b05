//===- MovementRulesTest.cpp - Reshape, Transpose and their kin -----------===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

TEST(Rules, Reshape) {
  EXPECT_TRUE(contains(importWithInts(7, "Reshape", {2, 3, 4}, {{0, -1}}),
                       {"train.reshape", "-> tensor<2x12xf32>"}));
  EXPECT_TRUE(contains(importWithInts(14, "Reshape", {2, 3, 4}, {{4, 6}}, {{"allowzero", 1}}),
                       {"-> tensor<4x6xf32>"}));
  EXPECT_TRUE(contains(importWithInts(14, "Reshape", {2, 3}, {{0, 3}}, {{"allowzero", 1}}),
                       {"y_node: Reshape: cannot reshape 'tensor<2x3xf32>' with 6 elements to 0"}));
  EXPECT_TRUE(contains(importWithInts(14, "Reshape", {2, 3}, {{4, -1}}),
                       {"6 elements do not divide by 4"}));
  EXPECT_TRUE(contains(importWithInts(14, "Reshape", {2, 3}, {{-1, -1}}), {"two sizes of -1"}));
  EXPECT_TRUE(contains(importWithInts(14, "Reshape", {2, 3}, {{2, 3, 0}}), {"copies dimension 2"}));
  EXPECT_TRUE(contains(importWithInts(14, "Reshape", {2, 3}, {{-7, 3}}), {"impossible size, -7"}));
}

TEST(Rules, ReshapeWithTheExportersBatchInIt) {
  Model model;
  model.input("x", {"batch", 4, 4}).ints("shape", {1, 16});
  model.node("Reshape", {"x", "shape"}, {"flat"}).weight("w", {16, 2});
  model.node("MatMul", {"flat", "w"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model, batchOf(2)),
                       {"flat_node: Reshape: cannot reshape",
                        "leading dimension of 1 where the batch is 2: the batch that the model was "
                        "exported with may be fixed in it"}));
}

TEST(Rules, Flatten) {
  EXPECT_TRUE(contains(importNode(7, "Flatten", {{2, 3, 4}}), {"-> tensor<2x12xf32>"}));
  EXPECT_TRUE(
      contains(importNode(9, "Flatten", {{2, 3, 4}}, {{"axis", 0}}), {"-> tensor<1x24xf32>"}));
  EXPECT_TRUE(
      contains(importNode(9, "Flatten", {{2, 3, 4}}, {{"axis", 3}}), {"-> tensor<24x1xf32>"}));
  EXPECT_TRUE(
      contains(importNode(13, "Flatten", {{2, 3, 4}}, {{"axis", -1}}), {"-> tensor<6x4xf32>"}));
}

TEST(Rules, SqueezeAndUnsqueeze) {
  EXPECT_TRUE(contains(importNode(11, "Squeeze", {{1, 3, 1, 5}}, {{"axes", Ints{2}}}),
                       {"-> tensor<1x3x5xf32>"}));
  EXPECT_TRUE(
      contains(importWithInts(13, "Squeeze", {1, 3, 1, 5}, {{2}}), {"-> tensor<1x3x5xf32>"}));
  EXPECT_TRUE(
      contains(importWithInts(13, "Squeeze", {1, 3, 1, 5}, {{-4}}), {"-> tensor<3x1x5xf32>"}));
  EXPECT_TRUE(contains(importNode(13, "Squeeze", {{1, 3, 1, 5}}), {"-> tensor<3x5xf32>"}));
  EXPECT_TRUE(contains(importWithInts(13, "Squeeze", {1, 3}, {{1}}),
                       {"y_node: Squeeze: cannot remove dimension 1"}));

  EXPECT_TRUE(contains(importNode(11, "Unsqueeze", {{3, 4}}, {{"axes", Ints{0, 3}}}),
                       {"-> tensor<1x3x4x1xf32>"}));
  EXPECT_TRUE(
      contains(importWithInts(13, "Unsqueeze", {3, 4}, {{-1, 0}}), {"-> tensor<1x3x4x1xf32>"}));
  EXPECT_TRUE(contains(importWithInts(13, "Unsqueeze", {3}, {{0, 0}}), {"axis is named twice"}));
  EXPECT_TRUE(contains(importWithInts(13, "Unsqueeze", {3}, {{5}}), {"axis 5 is not a dimension"}));
}

TEST(Rules, Transpose) {
  EXPECT_TRUE(contains(importNode(9, "Transpose", {{2, 3, 4}}),
                       {"permutation = array<i64: 2, 1, 0>", "-> tensor<4x3x2xf32>"}));
  EXPECT_TRUE(contains(importNode(21, "Transpose", {{2, 3, 4}}, {{"perm", Ints{0, 2, 1}}}),
                       {"-> tensor<2x4x3xf32>"}));
  EXPECT_TRUE(contains(importNode(21, "Transpose", {{2, 3}}, {{"perm", Ints{0, 0}}}),
                       {"perm is not a permutation"}));
}

TEST(Rules, ExpandIsBroadcastBothWays) {
  EXPECT_TRUE(contains(importWithInts(8, "Expand", {3, 1}, {{2, 1, 4}}),
                       {"train.broadcast", "-> tensor<2x3x4xf32>"}));
  // A size of 1 keeps the operand's.
  EXPECT_TRUE(contains(importWithInts(13, "Expand", {3, 4}, {{1, 1}}), {"{", "return %arg0"}));
}

} // namespace

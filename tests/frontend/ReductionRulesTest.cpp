//===- ReductionRulesTest.cpp - Reductions and softmax --------------------===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

TEST(Rules, ReductionsTakeAxesFromAttributeOrOperand) {
  const std::tuple<const char *, const char *, int64_t> ops[] = {{"ReduceSum", "sum", 13},
                                                                 {"ReduceMean", "mean", 18},
                                                                 {"ReduceMax", "max", 18},
                                                                 {"ReduceMin", "min", 18}};
  for (auto [onnx, train, changed] : ops) {
    std::string op = std::string("train.") + train;
    for (int64_t opset : {int64_t(7), int64_t(11), changed - 1}) {
      EXPECT_TRUE(contains(importNode(opset, onnx, {{2, 3, 4}}, {{"axes", Ints{1}}}),
                           {op, "axes = array<i64: 1>", "-> tensor<2x1x4xf32>"}))
          << onnx << opset;
      EXPECT_TRUE(
          contains(importNode(opset, onnx, {{2, 3, 4}}, {{"axes", Ints{2, 0}}, {"keepdims", 0}}),
                   {op, "axes = array<i64: 0, 2>", "train.reshape", "-> tensor<3xf32>"}))
          << onnx << opset;
    }
    for (int64_t opset : {changed, int64_t(20), int64_t(28)})
      EXPECT_TRUE(contains(importWithInts(opset, onnx, {2, 3, 4}, {{-1}}, {{"keepdims", 0}}),
                           {op, "axes = array<i64: 2>", "-> tensor<2x3xf32>"}))
          << onnx << opset;
    // No axes: all of them, or none at all.
    EXPECT_TRUE(contains(importNode(changed, onnx, {{2, 3}}, {{"keepdims", 0}}),
                         {op, "axes = array<i64: 0, 1>", "-> tensor<f32>"}));
    EXPECT_TRUE(contains(importNode(changed, onnx, {{2, 3}}, {{"noop_with_empty_axes", 1}}),
                         {"{", "return %arg0"}));
  }
  EXPECT_TRUE(contains(importNode(13, "ReduceSumSquare", {{2, 3}}, {{"axes", Ints{1}}}),
                       {"train.mul %arg0, %arg0 {train.category = 3 : i32}", "train.sum"}));
}

TEST(Rules, ReductionsOfSomething) {
  for (int64_t opset : {7, 11, 13, 17}) {
    EXPECT_TRUE(contains(importNode(opset, "ReduceL1", {{2, 3}}, {{"axes", Ints{1}}}),
                         {"train.abs %arg0", "train.sum %0 {axes = array<i64: 1>}"}));
    EXPECT_TRUE(contains(importNode(opset, "ReduceL2", {{2, 3}}, {{"axes", Ints{1}}}),
                         {"train.norm %arg0 {axes = array<i64: 1>}"}));
    EXPECT_TRUE(contains(importNode(opset, "ReduceLogSum", {{2, 3}}, {{"axes", Ints{-2}}}),
                         {"train.sum %arg0 {axes = array<i64: 0>}", "train.log %0"}));
    EXPECT_TRUE(contains(importNode(opset, "ReduceLogSumExp", {{2, 3}}, {{"axes", Ints{0}}}),
                         {"train.log_sum_exp %arg0 {axes = array<i64: 0>}"}));
  }
  for (int64_t opset : {18, 28})
    for (auto [op, train] : {std::pair{"ReduceL1", "sum"},
                             {"ReduceL2", "norm"},
                             {"ReduceLogSum", "sum"},
                             {"ReduceLogSumExp", "log_sum_exp"}})
      EXPECT_TRUE(
          contains(importWithInts(opset, op, {2, 3}, {{1}}, {{"keepdims", 0}}),
                   {std::string("train.") + train, "axes = array<i64: 1>", "-> tensor<2xf32>"}))
          << op;
  // Over no axes, each number on its own.
  const std::vector<Attribute> noop = {{"noop_with_empty_axes", 1}};
  EXPECT_TRUE(contains(importNode(18, "ReduceL1", {{3}}, noop), {"%0 = train.abs", "return %0"}));
  EXPECT_TRUE(
      contains(importNode(18, "ReduceL2", {{3}}, noop), {"train.norm %arg0 {axes = array<i64>}"}));
  EXPECT_TRUE(
      contains(importNode(18, "ReduceLogSum", {{3}}, noop), {"train.log %arg0", "return %0"}));
  EXPECT_TRUE(contains(importNode(18, "ReduceLogSumExp", {{3}}, noop), {"{", "return %arg0"}));
}

TEST(Rules, SoftmaxChangedItsMeaning) {
  for (const char *op : {"Softmax", "LogSoftmax"}) {
    std::string train = std::string("train.") + (op[0] == 'S' ? "softmax" : "log_softmax");
    // Before 13: everything from `axis` on is one row.
    for (int64_t opset : {7, 11, 12})
      EXPECT_TRUE(
          contains(importNode(opset, op, {{2, 3, 4}}), {"train.reshape", "-> tensor<2x12xf32>",
                                                        train, "axis = 1", "-> tensor<2x3x4xf32>"}))
          << op << opset;
    EXPECT_FALSE(contains(importNode(11, op, {{2, 3}}), {"train.reshape"}));
    EXPECT_TRUE(contains(importNode(11, op, {{2, 3}}, {{"axis", 0}}),
                         {"-> tensor<1x6xf32>", train, "axis = 1"}));
    // Since 13: one axis, the last unless said otherwise.
    for (int64_t opset : {13, 28}) {
      EXPECT_TRUE(contains(importNode(opset, op, {{2, 3, 4}}), {train + " %arg0", "axis = 2"}));
      EXPECT_TRUE(
          contains(importNode(opset, op, {{2, 3, 4}}, {{"axis", -2}}), {train, "axis = 1"}));
    }
  }
}

} // namespace

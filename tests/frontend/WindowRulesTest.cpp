//===- WindowRulesTest.cpp - Convolution and pooling ----------------------===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

const std::vector<int64_t> convOpsets = {7, 11, 17, 22, 28};

TEST(Conv, InEveryOperatorSet) {
  for (int64_t opset : convOpsets)
    EXPECT_TRUE(
        contains(importWithWeights(opset, "Conv", {2, 4, 9, 8}, {{6, 2, 3, 2}, {6}},
                                   {{"kernel_shape", Ints{3, 2}},
                                    {"strides", Ints{2, 1}},
                                    {"dilations", Ints{1, 2}},
                                    {"pads", Ints{1, 0, 2, 3}},
                                    {"group", 2}}),
                 {"%0 = train.conv %arg0, %arg1 {dilations = array<i64: 1, 2>, groups = 2 : i64, "
                  "pads = array<i64: 1, 0, 2, 3>, strides = array<i64: 2, 1>}",
                  "-> tensor<2x6x5x9xf32>", "train.reshape %arg2 {sizes = array<i64: 6, 1, 1>}",
                  "train.add %0, %1 {train.category = 0 : i32}"}))
        << opset;
}

TEST(Conv, DefaultsComeFromTheShapes) {
  // Of 1-d and 3-d ones too.
  EXPECT_TRUE(contains(importWithWeights(17, "Conv", {2, 4, 9}, {{6, 4, 3}}, {}),
                       {"train.conv", "dilations = array<i64: 1>, groups = 1", "array<i64: 0, 0>",
                        "-> tensor<2x6x7xf32>", "return %0"}));
  EXPECT_TRUE(contains(importWithWeights(17, "Conv", {2, 4, 9, 8, 7}, {{6, 4, 3, 2, 1}}, {}),
                       {"train.conv", "-> tensor<2x6x7x7x7xf32>"}));
}

Attribute autoPad(const char *value) {
  Attribute attribute("auto_pad", 0);
  attribute.proto.clear_i();
  attribute.proto.set_type(onnx::AttributeProto::STRING);
  attribute.proto.set_s(value);
  return attribute;
}

TEST(Conv, AutomaticPadding) {
  struct Case {
    const char *mode, *pads, *result;
  };
  for (Case c : {Case{"SAME_UPPER", "0, 1, 1, 1", "1x1x3x3"},
                 {"SAME_LOWER", "1, 1, 0, 1", "1x1x3x3"},
                 {"VALID", "0, 0, 0, 0", "1x1x2x2"},
                 {"NOTSET", "0, 0, 0, 0", "1x1x2x2"}})
    EXPECT_TRUE(contains(importWithWeights(17, "Conv", {1, 1, 6, 5}, {{1, 1, 3, 3}},
                                           {{"strides", Ints{2, 2}}, autoPad(c.mode)}),
                         {std::string("pads = array<i64: ") + c.pads + ">",
                          std::string("-> tensor<") + c.result + "xf32>"}))
        << c.mode;
  EXPECT_TRUE(
      contains(importWithWeights(17, "Conv", {1, 1, 6, 5}, {{1, 1, 3, 3}}, {autoPad("SAME")}),
               {"auto_pad"}));
}

TEST(Conv, WhatDoesNotFitIsAnError) {
  struct Case {
    Ints x;
    std::vector<Ints> weights;
    std::vector<Attribute> attributes;
    const char *message;
  };
  for (const Case &c : std::vector<Case>{
           {{1, 4, 6, 6},
            {{2, 3, 3, 3}},
            {},
            "y_node: Conv: 'train.conv' cannot share 4 channels out to 2 filters of 3 channels in "
            "1 groups"},
           {{1, 4, 6, 6}, {{3, 2, 3, 3}}, {{"group", 2}}, "cannot share 4 channels"},
           {{1, 4, 6, 6}, {{2, 4, 3, 3}}, {{"group", 0}}, "in 0 groups"},
           {{1, 4, 6, 6}, {{2, 4, 3}}, {}, "has a kernel of 1 dimensions for an input of 2"},
           {{1, 4, 6, 6}, {{2, 4, 9, 3}}, {}, "has a window of 9 points for a padded size of 6"},
           {{1, 4, 6, 6}, {{2, 4, 3, 3}}, {{"kernel_shape", Ints{3, 2}}}, "kernel_shape"},
           {{1, 4, 6, 6}, {{2, 4, 3, 3}}, {{"strides", Ints{0, 1}}}, "1 or more"},
           {{1, 4, 6, 6}, {{2, 4, 3, 3}}, {{"pads", Ints{0, -1, 0, 0}}}, "0 or more"},
           {{1, 4, 6, 6}, {{2, 4, 3, 3}}, {{"dilations", Ints{1, INT64_MAX}}}, "below 2^31"},
           {{1, 4, 6, 6}, {{2, 4, 3, 3}}, {{"pads", Ints{0, 0}}}, "has 2 pads, but needs 4"},
           {{1, 4, 6, 6}, {{2, 4, 3, 3}, {3}}, {}, "bias"}})
    EXPECT_TRUE(contains(importWithWeights(17, "Conv", c.x, c.weights, c.attributes), {c.message}));
}

TEST(Gemm, ABiasHasTheCategoryOfItsProduct) {
  EXPECT_TRUE(contains(importWithWeights(17, "Gemm", {2, 3}, {{3, 4}, {4}}, {}),
                       {"train.add", "{train.category = 0 : i32}"}));
}

TEST(Pool, MaxInEveryOperatorSet) {
  for (int64_t opset : {7, 8, 10, 11, 12, 22, 28})
    EXPECT_TRUE(contains(
        importWithWeights(
            opset, "MaxPool", {2, 3, 9, 8}, {},
            {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}}),
        {"train.max_pool %arg0 {dilations = array<i64: 1, 1>, kernel = array<i64: "
         "3, 2>, pads = array<i64: 1, 0, 1, 1>, strides = array<i64: 2, 2>}",
         "-> tensor<2x3x5x4xf32>"}))
        << opset;
  EXPECT_TRUE(
      contains(importWithWeights(12, "MaxPool", {2, 3, 9}, {},
                                 {{"kernel_shape", Ints{3}}, {"dilations", Ints{3}}}),
               {"dilations = array<i64: 3>", "strides = array<i64: 1>", "-> tensor<2x3x3xf32>"}));
}

TEST(Pool, CeilModeCompletesTheLastWindow) {
  auto pool = [](const Ints &x, int kernel, int stride, int pad, const char *op = "MaxPool",
                 int counts = 0, int64_t opset = 22) {
    std::vector<Attribute> attributes = {{"kernel_shape", Ints{kernel}},
                                         {"strides", Ints{stride}},
                                         {"pads", Ints{pad, pad}},
                                         {"ceil_mode", 1}};
    if (counts)
      attributes.push_back({"count_include_pad", 1});
    return importWithWeights(opset, op, x, {}, attributes);
  };
  EXPECT_TRUE(
      contains(pool({1, 1, 6}, 3, 2, 0), {"pads = array<i64: 0, 1>", "-> tensor<1x1x3xf32>"}));
  EXPECT_TRUE(
      contains(pool({1, 1, 7}, 3, 2, 0), {"pads = array<i64: 0, 0>", "-> tensor<1x1x3xf32>"}));
  EXPECT_TRUE(contains(pool({1, 1, 6}, 3, 2, 0, "MaxPool", 0, 10), {"pads = array<i64: 0, 1>"}));
  // A window that would start behind the input is none; older operator sets had it.
  EXPECT_TRUE(contains(pool({1, 1, 4}, 2, 3, 1, "MaxPool", 0, 17),
                       {"y_node: MaxPool: has a last window that starts behind its input",
                        "export it with operator set 22"}));
  EXPECT_TRUE(
      contains(pool({1, 1, 4}, 2, 3, 1), {"pads = array<i64: 1, 1>", "-> tensor<1x1x2xf32>"}));
  EXPECT_TRUE(contains(pool({1, 1, 2}, 1, 4, 0), {"-> tensor<1x1x1xf32>"}));
  // What completes a window does not count; the node's own padding may.
  EXPECT_TRUE(contains(
      pool({1, 1, 6}, 3, 2, 1, "AveragePool", 1),
      {"countedPads = array<i64: 1, 1>", "pads = array<i64: 1, 2>", "-> tensor<1x1x4xf32>"}));
  EXPECT_TRUE(contains(pool({1, 1, 6}, 3, 2, 1, "AveragePool"),
                       {"countedPads = array<i64: 0, 0>", "pads = array<i64: 1, 2>"}));
}

TEST(Pool, AverageWithAutomaticPadding) {
  EXPECT_TRUE(
      contains(importWithWeights(
                   17, "AveragePool", {1, 2, 5, 5}, {},
                   {{"kernel_shape", Ints{2, 2}}, {"count_include_pad", 1}, autoPad("SAME_LOWER")}),
               {"train.average_pool %arg0 {countedPads = array<i64: 1, 1, 0, 0>",
                "pads = array<i64: 1, 1, 0, 0>", "-> tensor<1x2x5x5xf32>"}));
}

TEST(Pool, Global) {
  for (int64_t opset : {7, 22}) {
    EXPECT_TRUE(contains(importWithWeights(opset, "GlobalAveragePool", {2, 3, 4, 5}, {}, {}),
                         {"train.mean %arg0 {axes = array<i64: 2, 3>}", "-> tensor<2x3x1x1xf32>"}));
    EXPECT_TRUE(contains(importWithWeights(opset, "GlobalMaxPool", {2, 3, 4, 5}, {}, {}),
                         {"train.reshape %arg0 {sizes = array<i64: 2, 3, 20>}",
                          "train.max_pool %0 {dilations = array<i64: 1>, kernel = array<i64: 20>",
                          "train.reshape %1 {sizes = array<i64: 2, 3, 1, 1>}"}));
  }
}

TEST(Pool, WhatIsNotSupportedIsAnError) {
  const Attribute kernel("kernel_shape", Ints{2, 2});
  EXPECT_TRUE(
      contains(importWithWeights(17, "MaxPool", {1, 2, 5, 5}, {}, {kernel}, {"y", "indices"}),
               {"y_node: MaxPool: ", "second output"}));
  EXPECT_TRUE(contains(
      importWithWeights(17, "AveragePool", {1, 2, 5, 5}, {}, {kernel, {"pads", Ints{2, 0, 0, 0}}}),
      {"y_node: AveragePool: has pads as large as its window"}));
  EXPECT_TRUE(
      contains(importWithWeights(17, "MaxPool", {1, 2, 5}, {}, {kernel}), {"y_node: MaxPool"}));
}

} // namespace

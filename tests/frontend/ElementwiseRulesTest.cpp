//===- ElementwiseRulesTest.cpp - Arithmetic, logic and casts -------------===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

const std::vector<int64_t> allOpsets = {7, 8, 9, 11, 12, 13, 14, 17, 18, 21, 22, 24, 28};

TEST(Rules, UnaryInEveryOperatorSet) {
  const std::pair<const char *, const char *> ops[] = {
      {"Abs", "abs"}, {"Cos", "cos"},   {"Exp", "exp"},   {"Floor", "floor"},
      {"Log", "log"}, {"Neg", "neg"},   {"Relu", "relu"}, {"Sigmoid", "sigmoid"},
      {"Sin", "sin"}, {"Sqrt", "sqrt"}, {"Tanh", "tanh"}};
  for (int64_t opset : allOpsets)
    for (auto [onnx, train] : ops)
      EXPECT_TRUE(contains(importNode(opset, onnx, {{2, 3}}),
                           {std::string("train.") + train + " %arg0 : ", "-> tensor<2x3xf32>"}))
          << onnx << " " << opset;
}

TEST(Rules, StepsThatHaveNoDerivative) {
  EXPECT_TRUE(contains(importNode(7, "Ceil", {{3}}), {"train.neg", "train.floor", "train.neg"}));
  EXPECT_TRUE(contains(importNode(11, "Round", {{3}}), {"train.round %arg0"}));
  EXPECT_TRUE(contains(importNode(9, "Sign", {{3}}, {}, i32, i32), {"train.sign %arg0"}));
  EXPECT_TRUE(contains(importNode(13, "Ceil", {{3}}, {}, f16, f16), {"-> tensor<3xf16>"}));
}

TEST(Rules, BinaryBroadcastsInEveryOperatorSet) {
  const std::pair<const char *, const char *> ops[] = {
      {"Add", "add"}, {"Sub", "sub"}, {"Mul", "mul"}, {"Div", "div"}, {"Pow", "pow"}};
  for (int64_t opset : allOpsets)
    for (auto [onnx, train] : ops)
      EXPECT_TRUE(
          contains(importNode(opset, onnx, {{4, 1, 3}, {2, 1}}),
                   {std::string("train.") + train + " %arg0, %arg1 : ", "-> tensor<4x2x3xf32>"}))
          << onnx << " " << opset;
}

TEST(Rules, ShapesThatDoNotBroadcastAreAnError) {
  EXPECT_TRUE(contains(importNode(17, "Add", {{2, 3}, {4}}),
                       {"y_node: Add: 'train.add' cannot broadcast [2x3] and [4]"}));
}

TEST(Rules, VariadicOpsFoldFromTheLeft) {
  for (int64_t opset : allOpsets) {
    EXPECT_TRUE(contains(
        importNode(opset, "Max", {{2, 3}, {2, 3}, opset < 8 ? Ints{2, 3} : Ints{3}}),
        {"%0 = train.maximum %arg0, %arg1", "train.maximum %0, %arg2", "-> tensor<2x3xf32>"}));
    EXPECT_TRUE(contains(importNode(opset, "Min", {{3}, {3}}), {"train.minimum %arg0, %arg1"}));
    EXPECT_TRUE(contains(importNode(opset, "Sum", {{3}, {3}, {3}}),
                         {"%0 = train.add %arg0, %arg1", "train.add %0, %arg2"}));
    EXPECT_TRUE(contains(importNode(opset, "Mean", {{3}, {3}, {3}}),
                         {"train.add", "train.add", "dense<3.000000e+00>", "train.div"}));
  }
  // One operand is that operand.
  EXPECT_TRUE(contains(importNode(13, "Sum", {{3}}), {"{", "return %arg0"}));
}

TEST(Rules, Reciprocal) {
  EXPECT_TRUE(contains(importNode(13, "Reciprocal", {{3}}),
                       {"arith.constant dense<1.000000e+00> : tensor<f32>",
                        "train.div %cst, %arg0 {train.category = 1 : i32}"}));
}

TEST(Rules, PowTakesAnExponentOfAnotherType) {
  Model model(15);
  model.input("x", {2, 3}).initializer(intTensor({}, {2}, "two"));
  model.node("Pow", {"x", "two"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"arith.constant dense<2> : tensor<i64>",
                                       "train.cast %cst to f32", "train.pow %arg0"}));
}

TEST(Rules, Comparisons) {
  const std::tuple<const char *, int64_t, const char *> ops[] = {{"Equal", 11, "eq"},
                                                                 {"Less", 9, "lt"},
                                                                 {"Greater", 9, "gt"},
                                                                 {"LessOrEqual", 12, "le"},
                                                                 {"GreaterOrEqual", 16, "ge"}};
  for (auto [onnx, opset, predicate] : ops)
    EXPECT_TRUE(contains(
        importNode(opset, onnx, {{2, 3}, {3}}, {}, f32, boolean),
        {std::string("train.compare ") + predicate + " %arg0, %arg1", "-> tensor<2x3xi1>"}))
        << onnx;
}

TEST(Rules, LogicAndSelection) {
  EXPECT_TRUE(contains(importNode(7, "And", {{3}, {3}}, {}, boolean, boolean),
                       {"train.logical_and %arg0, %arg1"}));
  EXPECT_TRUE(contains(importNode(7, "Or", {{3}, {3}}, {}, boolean, boolean),
                       {"train.logical_or %arg0, %arg1"}));
  EXPECT_TRUE(contains(importNode(7, "Xor", {{3}, {3}}, {}, boolean, boolean),
                       {"train.cast %arg0 to i8", "train.compare ne", "-> tensor<3xi1>"}));
  EXPECT_TRUE(contains(importNode(7, "Not", {{3}}, {}, boolean, boolean), {"train.logical_not"}));

  Model model(16);
  model.input("c", {2, 1}, boolean).input("x", {3}).weight("w", {1});
  model.node("Where", {"c", "x", "w"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"train.select %arg0, %arg1, %arg2", "-> tensor<2x3xf32>"}));
}

TEST(Rules, Casts) {
  EXPECT_TRUE(contains(importNode(13, "Cast", {{3}}, {{"to", f16}}, f32, f16),
                       {"train.cast %arg0 to f16", "-> tensor<3xf16>"}));
  // To its own type: nothing.
  EXPECT_TRUE(contains(importNode(13, "Cast", {{3}}, {{"to", f32}}), {"{", "return %arg0"}));
  EXPECT_TRUE(contains(importNode(13, "Cast", {{3}}, {{"to", 8}}, f32, 8),
                       {"y_node: Cast: casts to STRING, which is not supported"}));

  Model model(15);
  model.input("x", {3}).input("like", {1}, f64);
  model.node("CastLike", {"x", "like"}, {"y"}).output("y", f64);
  EXPECT_TRUE(contains(import(model), {"train.cast %arg0 to f64"}));
}

TEST(Rules, IntegersComputeWhereTheyMay) {
  EXPECT_TRUE(
      contains(importNode(14, "Add", {{3}, {3}}, {}, i64, i64), {"train.add", "-> tensor<3xi64>"}));
  EXPECT_TRUE(contains(importNode(14, "Div", {{3}, {3}}, {}, i64, i64),
                       {"computes with integers that depend on data"}));
}

TEST(Rules, WrongOperandsAreErrors) {
  Model model;
  model.input("x", {3}).input("n", {3}, i64).node("Add", {"x", "n"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"y_node: Add: operands have different element types"}));

  Model missing;
  missing.input("x", {3}).node("Add", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(missing), {"y_node: Add: "}));
}

} // namespace

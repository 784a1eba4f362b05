//===- ContractionRulesTest.cpp - MatMul and Gemm -------------------------===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

TEST(Rules, MatMul) {
  const std::tuple<Ints, Ints, std::vector<std::string>> cases[] = {
      {{2, 3}, {3, 4}, {"train.matmul %arg0, %arg1", "-> tensor<2x4xf32>"}},
      // A vector on the left is a row that disappears again, one on the right a column.
      {{3},
       {3, 4},
       {"to", "tensor<1x3xf32>", "train.matmul", "tensor<1x4xf32>", "return", "tensor<4xf32>"}},
      {{2, 3},
       {3},
       {"tensor<3x1xf32>", "train.matmul", "tensor<2x1xf32>", "return", "tensor<2xf32>"}},
      {{3},
       {3},
       {"tensor<1x3xf32>", "tensor<3x1xf32>", "tensor<1x1xf32>", "return", "tensor<f32>"}},
      // A batch times one matrix is one product.
      {{5, 2, 3},
       {3, 4},
       {"tensor<10x3xf32>", "train.matmul", "-> tensor<10x4xf32>", "return", "tensor<5x2x4xf32>"}},
      {{5, 2, 3}, {3}, {"train.matmul", "-> tensor<10x1xf32>", "return", "tensor<5x2xf32>"}},
      // Batches broadcast.
      {{5, 1, 2, 3}, {6, 3, 4}, {"train.matmul %arg0, %arg1", "-> tensor<5x6x2x4xf32>"}},
      {{3}, {6, 3, 4}, {"train.matmul", "-> tensor<6x1x4xf32>", "return", "tensor<6x4xf32>"}},
  };
  for (const auto &[left, right, parts] : cases) {
    std::vector<std::string> expected = parts;
    if (expected.front() == "to")
      expected.front() = "train.reshape";
    EXPECT_TRUE(contains(importNode(9, "MatMul", {left, right}), expected));
  }
  EXPECT_TRUE(contains(importNode(13, "MatMul", {{2, 3}, {4, 5}}),
                       {"y_node: MatMul: 'train.matmul' contracted dimensions differ: 3 and 4"}));
  EXPECT_TRUE(contains(importNode(13, "MatMul", {{}, {4, 5}}), {"rank 1 or more"}));
}

TEST(Rules, Gemm) {
  for (int64_t opset : {7, 9, 11, 13, 28})
    EXPECT_TRUE(
        contains(importNode(opset, "Gemm", {{3, 2}, {4, 3}, {4}}, {{"transA", 1}, {"transB", 1}}),
                 {"train.matmul %arg0, %arg1 {transA = true, transB = true}", "train.add",
                  "-> tensor<2x4xf32>"}));
  EXPECT_TRUE(
      contains(importNode(13, "Gemm", {{2, 3}, {3, 4}, {2, 1}}, {{"alpha", 0.5f}, {"beta", 2.0f}}),
               {"train.matmul", "dense<5.000000e-01>", "train.mul", "dense<2.000000e+00>",
                "train.mul %arg2", "train.add"}));
  // Without C, and with a C that a zero beta disables (it may hold NaN).
  EXPECT_FALSE(contains(importNode(11, "Gemm", {{2, 3}, {3, 4}}), {"train.add"}));
  EXPECT_FALSE(
      contains(importNode(11, "Gemm", {{2, 3}, {3, 4}, {4}}, {{"beta", 0.0f}}), {"train.add"}));
  EXPECT_TRUE(
      contains(importNode(13, "Gemm", {{2, 3}, {3, 4}, {5, 2, 4}}),
               {"y_node: Gemm: its third operand, 'tensor<5x2x4xf32>', does not broadcast"}));
}

TEST(Rules, GemmWithAnEmptyNameForC) {
  Model model(13);
  model.input("x", {2, 3}).weight("w", {3, 4});
  model.node("Gemm", {"x", "w", ""}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"train.matmul", "return %0"}));
}

} // namespace

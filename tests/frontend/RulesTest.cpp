//===- RulesTest.cpp - Every rule in every form that ONNX gave it ---------===//

#include "ModelBuilder.h"

using namespace halfstep::test;

namespace {

/// One node of `op` on inputs x0, x1... of the given shapes, of type `type`.
std::string importNode(int64_t opset, const std::string &op, const std::vector<Ints> &shapes,
                       const std::vector<Attribute> &attributes = {}, int type = f32,
                       int resultType = f32) {
  Model model(opset);
  Names inputs;
  for (const Ints &shape : shapes) {
    inputs.push_back("x" + std::to_string(inputs.size()));
    model.input(inputs.back(), std::vector<Dim>(shape.begin(), shape.end()), type);
  }
  model.node(op, inputs, {"y"}, attributes).output("y", resultType);
  return import(model);
}

/// One node of `op` on an input x and int64 initializers.
std::string importWithInts(int64_t opset, const std::string &op, const std::vector<Dim> &shape,
                           const std::vector<Ints> &operands,
                           const std::vector<Attribute> &attributes = {}) {
  Model model(opset);
  model.input("x", shape);
  Names inputs{"x"};
  for (const Ints &values : operands) {
    inputs.push_back("i" + std::to_string(inputs.size()));
    model.ints(inputs.back(), values);
  }
  model.node(op, inputs, {"y"}, attributes).output("y");
  return import(model);
}

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

/// A Dropout that trains, of which the ratio is structure and no parameter.
static Model trainingDropout(float ratio, Names outputs = {"y", "mask"}) {
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
  for (float ratio : {-0.5f, 1.5f, NAN}) {
    Model model = trainingDropout(ratio);
    EXPECT_TRUE(contains(import(model), {"y_node: Dropout: its ratio is", "no probability"}));
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

//===- DimensionsTest.cpp - Sizes for symbolic dimensions -----------------===//

#include "ModelBuilder.h"

using namespace halfstep;
using namespace halfstep::test;

namespace {

Model identity(const std::vector<Dim> &dims) {
  Model model;
  model.input("x", dims).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

TEST(Dimensions, BatchSizesTheLeadingDimension) {
  Model named = identity({"batch", 3}), unnamed = identity({"", 3}), fixed = identity({4, 3});
  EXPECT_TRUE(contains(import(named, batchOf(7)), {"%arg0: tensor<7x3xf32>"}));
  EXPECT_TRUE(contains(import(unnamed, batchOf(7)), {"%arg0: tensor<7x3xf32>"}));
  EXPECT_TRUE(contains(import(fixed, batchOf(4)), {"%arg0: tensor<4x3xf32>"}));
  EXPECT_TRUE(contains(import(fixed), {"%arg0: tensor<4x3xf32>"}));
  EXPECT_TRUE(contains(import(fixed, batchOf(7)),
                       {"--batch: (usage) the leading dimension of the model's inputs is 4, not 7",
                        "help: use --batch 4"}));
}

TEST(Dimensions, OneNameIsOneSize) {
  Model model;
  model.input("a", {"n", 3}).input("b", {3, "n"}).node("MatMul", {"a", "b"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model, batchOf(5)), {"tensor<5x3xf32>", "tensor<3x5xf32>"}));
}

TEST(Dimensions, BindSizesByName) {
  Model model = identity({"n", "length"});
  ImportOptions options = batchOf(2);
  options.bindings["length"] = 9;
  EXPECT_TRUE(contains(import(model, options), {"tensor<2x9xf32>"}));
  options.bindings["n"] = 2;
  EXPECT_TRUE(contains(import(model, options), {"tensor<2x9xf32>"}));
  options.bindings["n"] = 3;
  EXPECT_TRUE(contains(import(model, options), {"--batch: (usage) the leading dimension"}));
  options.bindings["lenght"] = 3;
  EXPECT_TRUE(contains(import(model, options),
                       {"--bind: (usage) no graph input has a dimension named 'lenght'",
                        "help: the named dimensions are: n, length"}));
}

TEST(Dimensions, WhatIsLeftIsAnErrorWithTheFlag) {
  Model model = identity({"n", "length", ""});
  EXPECT_TRUE(
      contains(import(model), {"x: (usage) dimension 0 ('n') of this graph input has no size",
                               "help: --batch N sets it, or --bind n=N"}));
  EXPECT_TRUE(contains(import(model, batchOf(1)),
                       {"x: (usage) dimension 1 ('length')", "help: --bind length=N sets it"}));
  ImportOptions options = batchOf(1);
  options.bindings["length"] = 2;
  EXPECT_TRUE(contains(import(model, options),
                       {"x: dimension 2 of this graph input has no size", "help: export"}));
}

TEST(Dimensions, AssumedSizesAreMarked) {
  Model model = identity({"n", "length"});
  ImportOptions options = batchOf(4);
  options.assumedSize = 1;
  TemporaryFolder folder;
  Imported imported(folder.write("m.onnx", model.proto.SerializeAsString()), options);
  ASSERT_TRUE(imported.model) << imported.diagnostics;
  const auto &dimensions = imported.model->dimensions;
  ASSERT_EQ(dimensions.size(), 2u);
  EXPECT_EQ(dimensions[0].name, "n");
  EXPECT_EQ(dimensions[0].size, 4);
  EXPECT_FALSE(dimensions[0].isAssumed);
  EXPECT_EQ(dimensions[1].name, "length");
  EXPECT_TRUE(dimensions[1].isAssumed);
}

TEST(Dimensions, SizesAreAtLeastOne) {
  Model model = identity({"n", 3}), zero = identity({0, 3}), negative = identity({2, -1});
  EXPECT_TRUE(contains(import(model, batchOf(0)), {"--batch: (usage) the batch size is 0"}));
  EXPECT_TRUE(contains(import(model, batchOf(-3)), {"--batch: (usage) the batch size is -3"}));
  ImportOptions options;
  options.bindings["n"] = 0;
  EXPECT_TRUE(contains(import(model, options), {"--bind: (usage) the size of 'n' is 0"}));
  EXPECT_TRUE(contains(import(zero), {"x: dimension 0 of this graph input is 0"}));
  EXPECT_TRUE(contains(import(negative), {"x: dimension 1 of this graph input is -1"}));
}

TEST(Dimensions, ImpossibleSizesAreAnError) {
  Model model = identity({"n", int64_t(1) << 40});
  EXPECT_TRUE(contains(import(model, batchOf(int64_t(1) << 40)),
                       {"x: this graph input is impossibly large"}));
}

TEST(Dimensions, InputsOfOtherKinds) {
  Model strings;
  strings.input("x", {1}, onnx::TensorProto::STRING).node("Identity", {"x"}, {"y"});
  strings.output("y", onnx::TensorProto::STRING);
  EXPECT_TRUE(contains(import(strings), {"x: this graph input has element type STRING"}));
  Model shapeless;
  shapeless.input("x", {1}).node("Relu", {"x"}, {"y"}).output("y");
  shapeless.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_TRUE(contains(import(shapeless), {"x: this graph input has no shape"}));
}

} // namespace

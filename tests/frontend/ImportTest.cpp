//===- ImportTest.cpp - Whole models: names, parameters, refusals ---------===//

#include "ModelBuilder.h"

#include <cmath>
#include <cstring>

using namespace halfstep;
using namespace halfstep::test;

namespace {

std::string data(const std::string &name) { return TEST_DIR "/models/data/" + name; }

TEST(Import, BothPyTorchExportersGiveTheSameFunction) {
  for (const char *name : {"mlp10.onnx", "mlp10.default_export.onnx"}) {
    Imported imported(data(name), batchOf(16));
    ASSERT_TRUE(imported.model) << imported.diagnostics;
    EXPECT_TRUE(
        contains(imported.text(),
                 {"halfstep.phase = \"import\"",
                  "func.func @forward(%arg0: tensor<16x10xf32> {train.input = \"x\"}",
                  "%arg1: tensor<10x10xf32> {train.parameter = \"0.weight\", train.trainable}",
                  "%arg2: tensor<10xf32> {train.parameter = \"0.bias\", train.trainable}",
                  "%arg3: tensor<1x10xf32> {train.parameter = \"2.weight\", train.trainable}",
                  "%arg4: tensor<1xf32> {train.parameter = \"2.bias\", train.trainable}",
                  "-> (tensor<16x1xf32> {train.output = \"y\"})",
                  "train.matmul %arg0, %arg1 {transB = true}", "train.add",
                  "train.category = 0 : i32", "train.relu", "train.matmul", "train.add",
                  "return"}));
  }
  // Weights inside the file and beside it hold the same numbers.
  Imported inside(data("mlp10.onnx"), batchOf(1)),
      beside(data("mlp10.default_export.onnx"), batchOf(1));
  ASSERT_TRUE(inside.model && beside.model);
  ASSERT_EQ(inside.model->weights.size(), beside.model->weights.size());
  for (size_t i = 0; i < inside.model->weights.size(); ++i) {
    EXPECT_EQ(inside.model->weights[i].name, beside.model->weights[i].name);
    EXPECT_EQ(inside.model->weights[i].bytes, beside.model->weights[i].bytes);
  }
}

TEST(Import, WeightsInAndBesideOneFile) {
  Imported imported(data("digits_mlp.default_export.onnx"), batchOf(64));
  ASSERT_TRUE(imported.model) << imported.diagnostics;
  EXPECT_EQ(imported.model->weights.size(), 6u);
  for (const Weight &weight : imported.model->weights)
    EXPECT_EQ(int64_t(weight.bytes.size()), weight.type.getNumElements() * 4);
}

TEST(Import, LocationsAreNodes) {
  Model model;
  model.input("x", {3});
  model.node("Relu", {"x"}, {"a"});
  model.lastNode().set_name("block.0/relu \"quoted\" \xc3\xa9");
  model.node("Relu", {"a"}, {"b"});
  model.lastNode().clear_name();
  model.node("Relu", {"b"}, {"c"});
  model.lastNode().set_name("same");
  model.node("Relu", {"c"}, {"d"});
  model.lastNode().set_name("same");
  model.node("Relu", {"d"}, {"e"});
  model.lastNode().set_name("Relu_5"); // what the last node would be called
  model.node("Relu", {"e"}, {"y"}).output("y");
  model.lastNode().clear_name();
  TemporaryFolder folder;
  Imported imported(folder.write("m.onnx", model.proto.SerializeAsString()));
  ASSERT_TRUE(imported.model) << imported.diagnostics;
  Names names;
  imported.model->module->walk([&](mlir::Operation *op) {
    if (op->getDialect()->getNamespace() == "train")
      names.push_back(mlir::cast<mlir::NameLoc>(op->getLoc()).getName().str());
  });
  EXPECT_EQ(names, (Names{"block.0/relu \"quoted\" \xc3\xa9", "Relu_1", "same", "same_2", "Relu_5",
                          "Relu_5_2"}));
}

TEST(Import, EqualWeightsStayTwoAndOneWeightUsedTwiceStaysOne) {
  Model model;
  model.input("x", {2, 3}).weight("a", {3}).weight("b", {3});
  model.node("Add", {"x", "a"}, {"xa"}).node("Add", {"xa", "b"}, {"xab"});
  model.node("Mul", {"xab", "a"}, {"y"}).output("y");
  std::string text = import(model);
  EXPECT_TRUE(contains(text, {"%arg1: tensor<3xf32> {train.parameter = \"a\", train.trainable}",
                              "%arg2: tensor<3xf32> {train.parameter = \"b\", train.trainable})",
                              "train.mul %1, %arg1"}));
}

TEST(Import, InitializersThatAreInputsAreParameters) {
  Model model(7);
  model.proto.set_ir_version(3); // the form in which all of them are
  model.input("x", {2, 3}).input("w", {3, 4}).input("shape", {1}, i64).weight("w", {3, 4});
  model.ints("shape", {8}).node("MatMul", {"x", "w"}, {"m"});
  model.node("Reshape", {"m", "shape"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model),
                       {"@forward(%arg0: tensor<2x3xf32> {train.input = \"x\"}, "
                        "%arg1: tensor<3x4xf32> {train.parameter = \"w\", train.trainable})"}));
}

TEST(Import, ConstantNodesAreWeightsUnlessTheyAreScalars) {
  Model model;
  model.input("x", {2});
  model.node("Constant", {}, {"w"}, {{"value", floatTensor({2}, {3, 4})}});
  model.node("Constant", {}, {"v"}, {{"value_floats", Floats{5, 6}}});
  model.node("Constant", {}, {"s"}, {{"value_float", 0.5f}});
  model.node("Sum", {"x", "w", "v", "s"}, {"y"}).output("y");
  EXPECT_TRUE(
      contains(import(model), {"%arg1: tensor<2xf32> {train.parameter = \"w\", train.trainable}",
                               "%arg2: tensor<2xf32> {train.parameter = \"v\", train.trainable}",
                               "arith.constant dense<5.000000e-01> : tensor<f32>"}));
}

TEST(Import, EveryFormOfStoredNumbers) {
  Model model;
  model.input("x", {2});
  onnx::TensorProto half; // bit patterns in an integer field: 1.0, -2.0
  half.set_data_type(f16);
  half.set_name("h");
  half.add_dims(2);
  half.add_int32_data(0x3c00);
  half.add_int32_data(0xc000);
  onnx::TensorProto raw;
  raw.set_data_type(f32);
  raw.set_name("r");
  raw.add_dims(2);
  float odd[2] = {std::numeric_limits<float>::quiet_NaN(), 1e-45f}; // kept as they are
  raw.set_raw_data(odd, sizeof odd);
  onnx::TensorProto wide;
  wide.set_data_type(f64);
  wide.set_name("d");
  wide.add_dims(2);
  wide.add_double_data(1.0);
  wide.add_double_data(std::numeric_limits<double>::infinity());
  model.initializer(half).initializer(raw).initializer(wide);
  model.node("Cast", {"h"}, {"h32"}, {{"to", f32}}).node("Cast", {"d"}, {"d32"}, {{"to", f32}});
  model.node("Sum", {"x", "h32", "r", "d32"}, {"y"}).output("y");
  TemporaryFolder folder;
  Imported imported(folder.write("m.onnx", model.proto.SerializeAsString()));
  ASSERT_TRUE(imported.model) << imported.diagnostics;
  const auto &weights = imported.model->weights;
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(std::string(weights[0].bytes.begin(), weights[0].bytes.end()),
            std::string("\0\x3c\0\xc0", 4));
  EXPECT_EQ(std::memcmp(weights[1].bytes.data(), odd, sizeof odd), 0);
  double last;
  std::memcpy(&last, weights[2].bytes.data() + 8, 8);
  EXPECT_TRUE(std::isinf(last));
  EXPECT_EQ(safetensorsType(weights[0].type.getElementType()), "F16");
  EXPECT_EQ(safetensorsType(weights[2].type.getElementType()), "F64");
}

TEST(Import, WrongAmountsOfNumbersAreErrors) {
  auto with = [](onnx::TensorProto tensor) {
    Model model;
    tensor.set_name("w");
    model.input("x", {2}).initializer(tensor).node("Add", {"x", "w"}, {"y"}).output("y");
    return import(model);
  };
  EXPECT_TRUE(contains(with(floatTensor({2}, {1})), {"w: has 4 bytes of data where its type "
                                                     "'tensor<2xf32>' needs 8"}));
  EXPECT_TRUE(contains(with(floatTensor({2}, {1, 2, 3})), {"w: has 12 bytes"}));
  EXPECT_TRUE(contains(with(floatTensor({-2}, {})),
                       {"w: has an impossible shape: dimension -2 is negative"}));
  EXPECT_TRUE(contains(with(floatTensor({int64_t(1) << 32, int64_t(1) << 32}, {})),
                       {"w: has an impossible shape: dimension 4294967296 makes it too large"}));
}

TEST(Import, RefusalsComeTogether) {
  Model model(17);
  model.input("x", {1, 3, 8, 8}).weight("w", {3, 4, 3, 3}).weight("b", {4});
  model.node("ConvTranspose", {"x", "w", "b"}, {"c"}).node("Relu", {"c"}, {"r"});
  model.node("GlobalLpPool", {"r"}, {"g"}).node("Frobnicate", {"g"}, {"f"});
  model.lastNode().set_domain("com.example");
  model.proto.add_opset_import()->set_domain("com.example");
  model.node("Erf", {"x"}, {"dead"}); // nothing reads it
  model.output("f");
  std::string text = import(model);
  EXPECT_TRUE(contains(text, {"FILE: 3 nodes cannot be imported",
                              "c_node: ConvTranspose (operator set 17) is not supported (in front "
                              "of: w, b)",
                              "g_node: GlobalLpPool (operator set 17) is not supported",
                              "f_node: Frobnicate (domain com.example) is not supported",
                              "help: 'halfstep ops' lists what can be imported"}));
  EXPECT_FALSE(contains(text, {"Erf"}));
}

TEST(Import, OperatorSetsBeforeTheOldestAreConverted) {
  Model model(6); // Add had a flag for broadcasting then
  model.proto.set_ir_version(3);
  model.input("x", {2, 3}).input("w", {3}).weight("w", {3});
  model.node("Add", {"x", "w"}, {"y"}, {{"broadcast", 1}}).output("y");
  model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  std::string text = import(model);
  EXPECT_TRUE(
      contains(text, {"train.parameter = \"w\", train.trainable", "train.add %arg0, %arg1"}));
}

TEST(Import, OperatorSetsOfTheFutureAreAnError) {
  Model model(1000);
  model.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(
      contains(import(model), {"FILE: uses operator set 1000; this build knows sets up to "}));
}

TEST(Import, LocalFunctionsAreInlined) {
  Model model(17);
  model.proto.add_opset_import()->set_domain("local");
  model.proto.mutable_opset_import(1)->set_version(1);
  onnx::FunctionProto *function = model.proto.add_functions();
  function->set_domain("local");
  function->set_name("Twice");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(17);
  onnx::NodeProto *node = function->add_node();
  node->set_op_type("Add");
  node->add_input("a");
  node->add_input("a");
  node->add_output("b");
  model.input("x", {3}).node("Twice", {"x"}, {"y"}).output("y");
  model.lastNode().set_domain("local");
  EXPECT_TRUE(contains(import(model), {"train.add %arg0, %arg0"}));

  node->set_op_type("Twice"); // of itself
  node->set_domain("local");
  node->mutable_input()->RemoveLast();
  EXPECT_TRUE(contains(import(model), {"FILE: its functions cannot be inlined"}));
}

TEST(Import, OutputsMayBeAnything) {
  Model model;
  model.input("x", {2}).weight("w", {2}).initializer(intTensor({2}, {5, 5}, "c"));
  model.node("Identity", {"x"}, {"same"}).output("same").output("w").output("c", i64).output("x");
  EXPECT_TRUE(contains(import(model),
                       {"train.output = \"same\"", "train.output = \"w\"", "train.output = \"c\"",
                        "dense<5> : tensor<2xi64>", "return %arg0, %arg1, %cst, %arg0"}));
}

TEST(Import, TheHashIsOfTheStructure) {
  auto hash = [](Model &model, int64_t batch) {
    std::string text = import(model, batchOf(batch));
    size_t at = text.find("graph_hash = \"");
    return at == std::string::npos ? text : text.substr(at, 46);
  };
  auto make = [](const char *op, int64_t size) {
    Model model;
    model.input("x", {"n", size}).weight("w", {size}).node(op, {"x", "w"}, {"y"}).output("y");
    return model;
  };
  Model add = make("Add", 3), again = make("Add", 3), other = make("Mul", 3),
        wider = make("Add", 4);
  again.graph().mutable_initializer(0)->set_float_data(0, 42);
  EXPECT_EQ(hash(add, 1), hash(again, 8)); // neither weights nor the batch matter
  EXPECT_NE(hash(add, 1), hash(other, 1));
  EXPECT_NE(hash(add, 1), hash(wider, 1));
}

} // namespace

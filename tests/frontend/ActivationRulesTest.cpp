//===- ActivationRulesTest.cpp - Activations and Clip ---------------------===//

#include "ModelBuilder.h"

using namespace halfstep::test;

namespace {

std::string importNode(int64_t opset, const std::string &op,
                       const std::vector<Attribute> &attributes = {}, int type = f32) {
  Model model(opset);
  model.input("x", {2, 3}, type).node(op, {"x"}, {"y"}, attributes).output("y", type);
  return import(model);
}

TEST(Activations, InEveryOperatorSetThatHasThem) {
  struct Case {
    const char *onnx;
    int64_t since;
    std::string train;
  };
  const Case cases[] = {
      {"Celu", 12, "elu %arg0 {alpha = 1.000000e+00 : f64, inputScale = 1.000000e+00 : f64, scale"},
      {"Elu", 7, "elu %arg0 {alpha = 1.000000e+00 : f64, inputScale = 1.000000e+00 : f64, scale"},
      {"Erf", 9, "erf %arg0 : "},
      {"Gelu", 20, "gelu %arg0 : "},
      {"HardSigmoid", 7, "hard_sigmoid %arg0 {alpha = 2.000000e-01 : f64, beta = 5.000000e-01"},
      {"HardSwish", 14, "hard_swish %arg0 : "},
      {"LeakyRelu", 7, "leaky_relu %arg0, %cst"},
      {"Mish", 18, "mish %arg0 : "},
      {"Selu", 7, "elu %arg0 {alpha = 1.67326"},
      {"Shrink", 9, "shrink %arg0 {bias = 0.000000e+00 : f64, bound = 5.000000e-01 : f64}"},
      {"Softplus", 7, "softplus %arg0 : "},
      {"Softsign", 7, "softsign %arg0 : "},
      {"Swish", 24, "swish %arg0 {alpha = 1.000000e+00"},
      {"ThresholdedRelu", 10, "select %0, %arg0, %cst"},
  };
  for (const Case &each : cases)
    for (int64_t opset :
         {int64_t(7), int64_t(9), int64_t(10), int64_t(12), int64_t(14), int64_t(16), int64_t(18),
          int64_t(20), int64_t(22), int64_t(24), int64_t(28)}) {
      std::string text = importNode(opset, each.onnx);
      if (opset >= each.since)
        EXPECT_TRUE(contains(text, {"train." + each.train, "-> tensor<2x3xf32>"}))
            << each.onnx << " " << opset;
      else
        EXPECT_TRUE(contains(text, {"y_node: ", "is not supported"})) << each.onnx << " " << opset;
    }
}

TEST(Activations, Attributes) {
  EXPECT_TRUE(contains(importNode(22, "Elu", {{"alpha", 0.5f}}),
                       {"alpha = 5.000000e-01", "inputScale = 1.000000e+00", "scale = 1.0"}));
  EXPECT_TRUE(contains(importNode(22, "Selu", {{"alpha", 0.5f}, {"gamma", 2.0f}}),
                       {"alpha = 5.000000e-01", "inputScale = 1.000000e+00", "scale = 2.0"}));
  EXPECT_TRUE(contains(importNode(12, "Celu", {{"alpha", 2.0f}}),
                       {"alpha = 2.000000e+00", "inputScale = 5.000000e-01", "scale = 1.0"}));
  EXPECT_TRUE(contains(importNode(12, "Celu", {{"alpha", 0.0f}}),
                       {"y_node: Celu: divides by its alpha, which is 0"}));
  EXPECT_TRUE(contains(importNode(7, "HardSigmoid", {{"alpha", 0.25f}, {"beta", 0.75f}}),
                       {"alpha = 2.500000e-01", "beta = 7.500000e-01"}));
  EXPECT_TRUE(contains(importNode(16, "LeakyRelu", {{"alpha", 0.25f}}),
                       {"dense<2.500000e-01>", "train.leaky_relu"}));
  EXPECT_TRUE(contains(importNode(9, "Shrink", {{"lambd", 0.25f}, {"bias", 2.0f}}),
                       {"bias = 2.000000e+00", "bound = 2.500000e-01"}));
  EXPECT_TRUE(contains(importNode(24, "Swish", {{"alpha", 0.25f}}), {"alpha = 2.500000e-01"}));
  EXPECT_TRUE(contains(importNode(10, "ThresholdedRelu", {{"alpha", 0.25f}}),
                       {"dense<2.500000e-01>", "train.compare gt", "train.select"}));
  EXPECT_TRUE(contains(importNode(12, "Elu", {}, f16), {"train.elu", "-> tensor<2x3xf16>"}));

  Model model(20);
  model.input("x", {3}).node("Gelu", {"x"}, {"y"}).output("y");
  onnx::AttributeProto *approximate = model.lastNode().add_attribute();
  approximate->set_name("approximate");
  approximate->set_type(onnx::AttributeProto::STRING);
  approximate->set_s("tanh");
  EXPECT_TRUE(contains(import(model), {"train.gelu_tanh"}));
  approximate->set_s("fast");
  EXPECT_TRUE(contains(import(model), {"Gelu: has an approximation 'fast', which ONNX does not"}));
}

TEST(Activations, PReluIsLowAndItsSlopeIsTrained) {
  for (int64_t opset : {7, 9, 16, 28}) {
    Model model(opset);
    model.input("x", {2, 3}).weight("w", {3}).node("PRelu", {"x", "w"}, {"y"}).output("y");
    EXPECT_TRUE(contains(import(model), {"train.trainable", "train.leaky_relu %arg0, %arg1 "
                                                            "{train.category = 0 : i32}"}))
        << opset;
  }
  Model model(16);
  model.input("x", {2, 1}).weight("w", {3}).node("PRelu", {"x", "w"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"PRelu: has a slope, 'tensor<3xf32>', that does not "
                                       "broadcast to 'tensor<2x1xf32>'"}));
}

std::string importClip(int64_t opset, const Names &inputs, int type = f32) {
  Model model(opset);
  model.input("x", {2, 3}, type);
  for (const char *name : {"low", "high"}) {
    onnx::TensorProto bound;
    bound.set_name(name);
    bound.set_data_type(type);
    if (type == f32)
      bound.add_float_data(2.0f);
    else
      bound.add_int32_data(2);
    model.initializer(bound);
  }
  model.node("Clip", inputs, {"y"}).output("y", type);
  return import(model);
}

TEST(Clip, BoundsAreAttributesThenOperands) {
  EXPECT_TRUE(contains(importNode(7, "Clip", {{"min", -1.0f}, {"max", 6.0f}}),
                       {"dense<-1.000000e+00>", "dense<6.000000e+00>", "train.clip %arg0"}));
  EXPECT_TRUE(contains(importNode(10, "Clip"), {"dense<0xFF800000>", "dense<0x7F800000>"}));
  for (int64_t opset : {11, 12, 13, 28}) {
    // Weights of the file, but not trained.
    std::string text = importClip(opset, {"x", "low", "high"});
    EXPECT_TRUE(contains(text, {"{train.parameter = \"low\"}", "{train.parameter = \"high\"}",
                                "train.clip %arg0, %arg1, %arg2"}));
    EXPECT_TRUE(contains(importClip(opset, {"x", "", "high"}),
                         {"dense<0xFF800000>", "train.clip %arg0, %cst, %arg1"}));
    EXPECT_TRUE(contains(importClip(opset, {"x"}), {"train.clip %arg0, %cst, %cst_0"}));
  }
  // Integers have no derivative.
  EXPECT_TRUE(contains(importClip(12, {"x", "low", "high"}, i32),
                       {"train.maximum %arg0", "train.minimum"}));
  EXPECT_TRUE(contains(importClip(12, {"x", "", "high"}, i32), {"train.minimum %arg0"}));

  Model model(13);
  model.input("x", {2, 3}).weight("low", {3}).node("Clip", {"x", "low"}, {"y"}).output("y");
  EXPECT_TRUE(
      contains(import(model), {"Clip: has a bound of type 'tensor<3xf32>', not one 'f32'"}));
}

} // namespace

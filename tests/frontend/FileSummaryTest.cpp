//===- FileSummaryTest.cpp - What shows of an export ----------------------===//

#include "frontend/FileSummary.h"
#include "ModelBuilder.h"

using namespace halfstep;
using namespace halfstep::test;

namespace {

/// "SUBJECT: what" of each loss, a line each.
std::string lossesOf(const Model &model) {
  TemporaryFolder folder;
  mlir::MLIRContext context;
  auto summary =
      summariseFile(context, folder.write("model.onnx", model.proto.SerializeAsString()), "");
  EXPECT_TRUE(succeeded(summary));
  std::string text;
  for (const ExportLoss &loss : summary->lost)
    text += loss.subject + ": " + loss.what + "\n";
  return text;
}

TEST(FileSummary, TensorsAsTheFileHasThem) {
  Model model;
  model.input("x", {"batch", 3, ""}).weight("w", {3, 2}).node("MatMul", {"x", "w"}, {"y"});
  model.output("y");
  TemporaryFolder folder;
  mlir::MLIRContext context;
  auto summary =
      summariseFile(context, folder.write("model.onnx", model.proto.SerializeAsString()), "");
  ASSERT_TRUE(succeeded(summary));
  ASSERT_EQ(summary->inputs.size(), 1u);
  EXPECT_EQ(summary->inputs[0].element, "f32");
  EXPECT_EQ(summary->inputs[0].sizes, (Names{"batch", "3", "?"}));
  ASSERT_EQ(summary->weights.size(), 1u);
  EXPECT_EQ(summary->weights[0].sizes, (Names{"3", "2"}));
  EXPECT_EQ(summary->outputs[0].name, "y");
  EXPECT_TRUE(summary->lost.empty());
}

TEST(FileSummary, ABatchThatIsFixed) {
  Model model;
  model.input("x", {16, 3}).input("scale", {1}).node("Mul", {"x", "scale"}, {"y"}).output("y");
  EXPECT_EQ(lossesOf(model),
            "x: the batch of 16 is fixed; export with dynamic_axes or dynamic_shapes\n");
}

/// PyTorch's exporters name what they make of a norm in two ways.
TEST(FileSummary, ANormThatIsFolded) {
  for (auto [weight, bias] :
       {std::pair("conv.weight", "x_bias"), {"onnx::Conv_7", "onnx::Conv_8"}}) {
    Model model;
    model.input("x", {"n", 1, 4, 4}).weight(weight, {2, 1, 3, 3}).weight(bias, {2});
    model.node("Conv", {"x", weight, bias}, {"y"}).output("y");
    EXPECT_EQ(
        lossesOf(model).find("y_node: holds a BatchNormalization, folded into weight and bias"),
        0u);
  }
  Model plain;
  plain.input("x", {"n", 1, 4, 4}).weight("conv.weight", {2, 1, 3, 3}).weight("conv.bias", {2});
  plain.node("Conv", {"x", "conv.weight", "conv.bias"}, {"y"}).output("y");
  EXPECT_EQ(lossesOf(plain), "");
}

TEST(FileSummary, ManyConvolutionsWithoutANorm) {
  Model model;
  model.input("x", {"n", 1, 4, 4}).weight("a", {1, 1, 1, 1}).weight("b", {1, 1, 1, 1});
  model.node("Conv", {"x", "a"}, {"h"}).node("Conv", {"h", "b"}, {"y"}).output("y");
  EXPECT_EQ(lossesOf(model), ": no normalisation beside 2 convolutions: if the model has "
                             "BatchNormalization, the exporter has folded it\n");
  model.weight("s", {1}).node("InstanceNormalization", {"y", "s", "s"}, {"z"});
  model.graph().mutable_output(0)->set_name("z");
  EXPECT_EQ(lossesOf(model).find("no normalisation"), std::string::npos);
}

TEST(FileSummary, InferenceForms) {
  Model model;
  model.input("x", {"n", 2}).weight("s", {2}).weight("b", {2}).weight("m", {2}).weight("v", {2});
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"h"});
  model.node("Dropout", {"h"}, {"y"}).output("y");
  EXPECT_EQ(lossesOf(model),
            "h_node: uses the mean and variance in the file instead of the batch's\n"
            "y_node: drops nothing: it is in its inference form\n");
}

TEST(FileSummary, NamesThatAnExporterMade) {
  for (const char *name : {"onnx::MatMul_12", "val_3", "17"}) {
    Model model;
    model.input("x", {"n", 2}).weight(name, {2, 2}).node("MatMul", {"x", name}, {"y"}).output("y");
    EXPECT_EQ(lossesOf(model), std::string(name) +
                                   ": is a parameter that the exporter has transposed or computed "
                                   "anew, under a name of its own\n");
  }
  for (const char *name : {"fc.weight", "val_x", "layer1"}) {
    Model model;
    model.input("x", {"n", 2}).weight(name, {2, 2}).node("MatMul", {"x", name}, {"y"}).output("y");
    EXPECT_EQ(lossesOf(model), "");
  }
}

/// A tensor that nodes of two kinds read, as an embedding that is the last layer too, is a tie that
/// somebody wanted.
TEST(FileSummary, WeightsThatAreMerged) {
  Model model;
  model.input("x", {"n", 2}).weight("w", {2, 2}).weight("b", {2});
  model.node("MatMul", {"x", "w"}, {"h"}).node("Gemm", {"h", "w"}, {"g"});
  model.node("Add", {"g", "b"}, {"i"})
      .node("Add", {"i", "b"}, {"j"})
      .node("Add", {"j", "b"}, {"k"});
  model.node("Add", {"k", "b"}, {"y"}).output("y");
  EXPECT_EQ(lossesOf(model),
            "b: is one tensor for 4 Add nodes (i_node, j_node, k_node, ...), which training keeps "
            "equal: exporters merge parameters of equal values\n");
}

} // namespace

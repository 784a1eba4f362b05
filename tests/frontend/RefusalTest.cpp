//===- RefusalTest.cpp - Nodes and graphs that are refused ----------------===//
//
// One model a message that no test of what is accepted comes by.
//
//===----------------------------------------------------------------------===//

#include "RefusalTest.h"

using namespace halfstep::test;

namespace {

void flag(Model &m, const std::string &name, const Ints &shape = {}) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(boolean);
  tensor.mutable_dims()->Assign(shape.begin(), shape.end());
  tensor.add_int32_data(1);
  m.initializer(tensor);
}

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, InThoseWords) { expectRefused(GetParam()); }

// Values that depend on data.
const Refusal kRules[] = {
    {"IntegerMatMul", 13,
     [](Model &m) { m.input("x", {2, 2}, i64).node("MatMul", {"x", "x"}, {"y"}).output("y", i64); },
     "MatMul: multiplies integer matrices, which is not supported"},
    {"IntegerGemm", 13,
     [](Model &m) { m.input("x", {2, 2}, i64).node("Gemm", {"x", "x"}, {"y"}).output("y", i64); },
     "Gemm: multiplies integer matrices, which is not supported"},
    {"GemmOfVectors", 13,
     [](Model &m) { m.input("x", {2}).node("Gemm", {"x", "x"}, {"y"}).output("y"); },
     "needs operands of rank 2, not 'tensor<2xf32>' and 'tensor<2xf32>'"},
    {"IntegerPower", 13,
     [](Model &m) { m.input("x", {2}, i64).node("Pow", {"x", "x"}, {"y"}).output("y", i64); },
     "raises integers that depend on data, which is not supported"},
    {"Compared", 13,
     [](Model &m) {
       m.input("x", {2}).input("n", {2}, i64).node("Less", {"x", "n"}, {"y"});
       m.output("y", boolean);
     },
     "Less: needs two operands of one type"},
    {"Xor", 13,
     [](Model &m) { m.input("x", {2}).node("Xor", {"x", "x"}, {"y"}).output("y", boolean); },
     "Xor: needs boolean operands"},
    {"And", 13,
     [](Model &m) { m.input("x", {2}).node("And", {"x", "x"}, {"y"}).output("y", boolean); },
     "And: needs boolean operands"},
    {"Where", 13,
     [](Model &m) { m.input("x", {2}).node("Where", {"x", "x", "x"}, {"y"}).output("y"); },
     "needs a boolean condition and two operands of one type"},
    {"CastLikeDoubleWords", 15,
     [](Model &m) {
       m.input("x", {2}).ints("n", {2});
       m.node("Cast", {"n"}, {"u"}, {{"to", int64_t(onnx::TensorProto::UINT64)}});
       m.node("CastLike", {"x", "u"}, {"y"}).output("y", onnx::TensorProto::UINT64);
     },
     "CastLike: casts to 'ui64', which is not supported"},
    {"DropsIntegers", 13,
     [](Model &m) {
       flag(m, "training");
       m.input("x", {2}, i64).initializer(floatTensor({}, {0.5f}, "ratio"));
       m.node("Dropout", {"x", "ratio", "training"}, {"y"}).output("y", i64);
     },
     "drops elements of a tensor that is not of floats"},
    {"Seed", 13,
     [](Model &m) {
       // The warning comes in front of an error.
       flag(m, "training");
       m.input("x", {2}).initializer(floatTensor({}, {0.5f}, "ratio"));
       m.node("Dropout", {"x", "ratio", "training"}, {"h"}, {{"seed", 3}});
       m.node("NoSuchOp", {"h"}, {"y"}).output("y");
     },
     "h_node: warning: its seed is not used: the option --seed decides all random numbers"},
    {"RatioOfData", 13,
     [](Model &m) {
       m.input("x", {2}).input("r", {}).node("Dropout", {"x", "r"}, {"y"}).output("y");
     },
     "operand 1 ('r') must be one number that is known when compiling"},
    {"IntegerRatio", 13,
     [](Model &m) {
       m.input("x", {2}).initializer(intTensor({}, {1}, "r"));
       m.node("Dropout", {"x", "r"}, {"y"}).output("y");
     },
     "its ratio is not a float"},
    {"RangeOfData", 13,
     [](Model &m) { m.input("n", {}, i64).node("Range", {"n", "n", "n"}, {"y"}).output("y", i64); },
     "its operands must be known when compiling, and depend on data here"},
    {"NormOfIntegers", 17,
     [](Model &m) {
       m.input("x", {2, 3, 4}, i64).ints("s", {1, 1, 1});
       m.node("InstanceNormalization", {"x", "s", "s"}, {"y"}).output("y", i64);
     },
     "InstanceNormalization: is supported on floats only, not on 'tensor<2x3x4xi64>'"},
    {"NormOfRows", 17,
     [](Model &m) {
       m.input("x", {2, 3}).weight("s", {3});
       m.node("InstanceNormalization", {"x", "s", "s"}, {"y"}).output("y");
     },
     "InstanceNormalization: needs an operand of rank 3 or more (batch, channels, sizes), not "},
    {"BatchNormOfNumbers", 17,
     [](Model &m) {
       m.input("x", {3}).weight("s", {3});
       m.node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}).output("y");
     },
     "needs an operand of rank 2 or more (batch, channels), not 'tensor<3xf32>'"},
    {"BatchNormInInference", 17,
     [](Model &m) {
       m.input("x", {2, 3}).weight("s", {3});
       m.node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"h"});
       m.node("NoSuchOp", {"h"}, {"y"}).output("y");
     },
     "h_node: warning: this BatchNormalization is in its inference form: its mean and variance"},
    {"PadsWithMany", 13,
     [](Model &m) {
       m.input("x", {4}).input("v", {2}).ints("pads", {1, 1});
       m.node("Pad", {"x", "pads", "v"}, {"y"}).output("y");
     },
     "pads with 'tensor<2xf32>' instead of one number"},
    {"SumOfIntegers", 13,
     [](Model &m) { m.input("x", {4}, i64).node("ReduceMax", {"x"}, {"y"}).output("y", i64); },
     "reduces integers that depend on data, which is not supported"},
    {"Stride", 13,
     [](Model &m) {
       m.input("x", {1, 1, 4}).weight("w", {1, 1, 2});
       m.node("Conv", {"x", "w"}, {"y"}, {{"strides", Ints{0}}}).output("y");
     },
     "needs kernel, strides and dilations of 1 or more and pads of 0 or more, below 2^31"},
    {"AutoPad", 13,
     [](Model &m) {
       Attribute pad("auto_pad", 0);
       pad.proto.set_type(onnx::AttributeProto::STRING);
       pad.proto.set_s("SAME");
       m.input("x", {1, 1, 4}).weight("w", {1, 1, 2});
       m.node("Conv", {"x", "w"}, {"y"}, {pad}).output("y");
     },
     "has an auto_pad 'SAME', which ONNX does not know"},
    {"ConvOfIntegers", 13,
     [](Model &m) {
       m.input("x", {1, 1, 4}, i64).node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", Ints{2}}});
       m.output("y", i64);
     },
     "MaxPool: is supported on floats only, not on 'tensor<1x1x4xi64>'"},
    {"PoolOfRows", 13,
     [](Model &m) {
       m.input("x", {4, 4}).node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", Ints{2}}});
       m.output("y");
     },
     "MaxPool: needs an operand of rank 3 or more (batch, channels, sizes), not "},
    {"StatedKernel", 13,
     [](Model &m) {
       m.input("x", {1, 1, 4}).weight("w", {1, 1, 2});
       m.node("Conv", {"x", "w"}, {"y"}, {{"kernel_shape", Ints{3}}}).output("y");
     },
     "has a kernel_shape that is not that of its filters, 'tensor<1x1x2xf32>'"},
    {"ConvBias", 13,
     [](Model &m) {
       m.input("x", {1, 1, 4}).weight("w", {1, 1, 2}).weight("b", {3});
       m.node("Conv", {"x", "w", "b"}, {"y"}).output("y");
     },
     "has a bias of type 'tensor<3xf32>' for 1 output channels"},
    {"TypesOfOperands", 13,
     [](Model &m) {
       m.input("x", {4}).input("n", {4}, i64).node("Mul", {"x", "n"}, {"y"}).output("y");
     },
     "operands have different element types: 'f32' and 'i64'"},
    {"BooleanSum", 13,
     [](Model &m) {
       m.input("x", {4}, boolean).node("Add", {"x", "x"}, {"y"}).output("y", boolean);
     },
     "operands are booleans where numbers are needed"},
    {"ImpossibleSize", 13,
     [](Model &m) {
       m.input("x", {4}).ints("s", {-3}).node("Reshape", {"x", "s"}, {"y"}).output("y");
     },
     "asks for an impossible size, -3"},
    {"FlattenedAt", 13,
     [](Model &m) { m.input("x", {4}).node("Flatten", {"x"}, {"y"}, {{"axis", 3}}).output("y"); },
     "axis 3 is not a place to split a tensor of rank 1"},
    {"UnsignedConstant", 13,
     [](Model &m) {
       m.input("x", {2}).ints("n", {2});
       m.node("Cast", {"n"}, {"u"}, {{"to", int64_t(onnx::TensorProto::UINT64)}});
       m.output("u", onnx::TensorProto::UINT64);
     },
     "reads 'u', a constant of type 'tensor<1xui64>', which a training step cannot hold"},
};

// The graph around the nodes.
const Refusal kGraphs[] = {
    {"SizeOfInput", 13,
     [](Model &m) { m.input("x", {2, 0}).node("Relu", {"x"}, {"y"}).output("y"); },
     "x: dimension 1 of this graph input is 0; sizes are at least 1"},
    {"Sequence", 13,
     [](Model &m) {
       m.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
       m.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
     },
     "x: this graph input is not a tensor"},
    {"SparseInitializer", 13,
     [](Model &m) {
       m.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
       m.graph().add_sparse_initializer()->mutable_values()->set_name("s");
     },
     "FILE: has sparse initializers, which are not supported"},
    {"TypeOfWeight", 13,
     [](Model &m) {
       onnx::TensorProto weight = floatTensor({1}, {}, "w");
       weight.set_data_type(onnx::TensorProto::COMPLEX64);
       m.input("x", {2}).initializer(weight).node("Add", {"x", "w"}, {"y"}).output("y");
     },
     "w: has element type COMPLEX64, which is not supported"},
    {"OffsetOfExternalData", 13,
     [](Model &m) {
       m.input("x", {2}).node("Add", {"x", "w"}, {"y"}).output("y");
       m.initializer(externalTensor("w", f32, {{"location", "w.bin"}, {"offset", "two"}}));
     },
     "w: external data offset 'two' is not a number"},
    {"LengthOfExternalData", 13,
     [](Model &m) {
       m.input("x", {2}).node("Add", {"x", "w"}, {"y"}).output("y");
       m.initializer(externalTensor("w", f32, {{"location", "w.bin"}, {"length", "-8"}}));
     },
     "w: external data length '-8' is not a number"},
};

INSTANTIATE_TEST_SUITE_P(Rules, Refused, ::testing::ValuesIn(kRules), nameOf);
INSTANTIATE_TEST_SUITE_P(Graphs, Refused, ::testing::ValuesIn(kGraphs), nameOf);

} // namespace

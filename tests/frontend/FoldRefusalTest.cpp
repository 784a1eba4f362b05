//===- FoldRefusalTest.cpp - Constants that are refused -------------------===//
//
// Arithmetic on what is known when compiling: one model a message.
//
//===----------------------------------------------------------------------===//

#include "RefusalTest.h"

using namespace halfstep::test;

namespace {

/// A constant, which unlike an initializer is no weight.
void constant(Model &m, const std::string &name, const Floats &values) {
  m.node("Constant", {}, {name}, {{"value", floatTensor({int64_t(values.size())}, values)}});
}

class RefusedFold : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedFold, InThoseWords) { expectRefused(GetParam()); }

const Refusal kFolds[] = {
    {"Text", 13,
     [](Model &m) {
       Attribute text("value_string", 0);
       text.proto.clear_i();
       text.proto.set_type(onnx::AttributeProto::STRING);
       text.proto.set_s("text");
       m.input("x", {2}).node("Constant", {}, {"c"}, {text}).node("Add", {"x", "c"}, {"y"});
       m.output("y");
     },
     "c_node: Constant: holds a string or a sparse tensor, which is not supported"},
    {"ImpossibleShape", 13,
     [](Model &m) { m.ints("n", {-2}).node("ConstantOfShape", {"n"}, {"y"}).output("y"); },
     "makes a tensor of an impossible shape"},
    {"TwoValues", 13,
     [](Model &m) {
       m.ints("n", {2}).node("ConstantOfShape", {"n"}, {"y"},
                             {{"value", floatTensor({2}, {1, 2})}});
       m.output("y");
     },
     "its value is not one element"},
    {"RangeOfVectors", 13,
     [](Model &m) { m.ints("n", {2, 3}).node("Range", {"n", "n", "n"}, {"y"}).output("y", i64); },
     "needs three scalars"},
    {"RootOfIntegers", 13,
     [](Model &m) { m.ints("n", {4, 9}).node("Sqrt", {"n"}, {"y"}).output("y", i64); },
     "needs a float operand"},
    {"AndOfIntegers", 13,
     [](Model &m) { m.ints("n", {0, 1}).node("And", {"n", "n"}, {"y"}).output("y", boolean); },
     "needs two boolean operands"},
    {"NotOfIntegers", 13,
     [](Model &m) { m.ints("n", {0, 1}).node("Not", {"n"}, {"y"}).output("y", boolean); },
     "needs a boolean operand"},
    {"WhereOfIntegers", 13,
     [](Model &m) { m.ints("n", {0, 1}).node("Where", {"n", "n", "n"}, {"y"}).output("y", i64); },
     "Where: needs a boolean condition and two operands of one type"},
    {"CastToText", 13,
     [](Model &m) { m.ints("n", {0, 1}).node("Cast", {"n"}, {"y"}, {{"to", 8}}).output("y", 8); },
     "casts to STRING, which is not supported"},
    {"Reshape", 13,
     [](Model &m) {
       m.ints("n", {1, 2, 3}).ints("s", {2}).node("Reshape", {"n", "s"}, {"y"}).output("y", i64);
     },
     "Reshape: cannot reshape "},
    {"FloatIndices", 13,
     [](Model &m) {
       m.ints("n", {1, 2, 3});
       constant(m, "i", {1, 2});
       m.node("Gather", {"n", "i"}, {"y"}).output("y", i64);
     },
     "indices are not integers"},
    {"Ranks", 13,
     [](Model &m) {
       m.ints("n", {1, 2}).initializer(intTensor({1, 2}, {1, 2}, "k"));
       m.node("Concat", {"n", "k"}, {"y"}, {{"axis", 0}}).output("y", i64);
     },
     "operands have different ranks"},
    {"OtherDimensions", 13,
     [](Model &m) {
       m.initializer(intTensor({2, 1}, {1, 2}, "n")).initializer(intTensor({1, 2}, {1, 2}, "k"));
       m.node("Concat", {"n", "k"}, {"y"}, {{"axis", 0}}).output("y", i64);
     },
     "operands differ in another dimension than the joined one"},
    {"DifferentTypes", 13,
     [](Model &m) {
       m.ints("n", {1, 2});
       constant(m, "c", {1, 2});
       m.node("Add", {"n", "c"}, {"y"}).output("y");
     },
     "operands have different element types"},
    {"TooManyElements", 13,
     [](Model &m) {
       m.ints("n", {1, 2}).ints("s", {100000000, 2}).node("Expand", {"n", "s"}, {"y"});
       m.output("y", i64);
     },
     "its constant result has 200000000 elements, too many to compute when compiling"},
    {"FloatSizes", 13,
     [](Model &m) {
       constant(m, "s", {1, 2});
       m.input("x", {2}).node("Reshape", {"x", "s"}, {"y"}).output("y");
     },
     "the sizes of the new shape are not integers"},
    {"ManySizes", 13,
     [](Model &m) {
       m.input("x", {2}).ints("s", Ints(5000, 1)).node("Reshape", {"x", "s"}, {"y"}).output("y");
     },
     "the sizes of the new shape are too many: 5000"},
};

INSTANTIATE_TEST_SUITE_P(, RefusedFold, ::testing::ValuesIn(kFolds), nameOf);

} // namespace

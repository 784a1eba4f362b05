//===- FoldTest.cpp - Shape arithmetic that is gone after the import ------===//
//
// A constant that ends as the shape operand of a Reshape or Expand is visible in the result's type;
// other constants are made graph outputs.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include <cstring>

using namespace halfstep;
using namespace halfstep::test;

namespace {

TEST(Fold, TheWayExportersReshape) {
  // Reshape(x, Concat(Unsqueeze(Gather(Shape(x), 0)), [-1])).
  for (int64_t opset : {11, 13}) {
    Model model(opset);
    model.input("x", {"n", 3, 4}).initializer(intTensor({}, {0}, "zero")).ints("rest", {-1});
    model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"n"});
    if (opset < 13)
      model.node("Unsqueeze", {"n"}, {"n1"}, {{"axes", Ints{0}}});
    else
      model.ints("axes", {0}).node("Unsqueeze", {"n", "axes"}, {"n1"});
    model.node("Concat", {"n1", "rest"}, {"sizes"}, {{"axis", 0}});
    model.node("Reshape", {"x", "sizes"}, {"y"}).output("y");
    std::string text = import(model, batchOf(5));
    EXPECT_TRUE(contains(text, {"train.reshape", "-> tensor<5x12xf32>"}));
    EXPECT_FALSE(contains(text, {"arith.constant"}));
  }
}

/// Imports `model` after sending its value "c" of integers through an Expand of x, so that its
/// numbers are the sizes of the result.
std::string sizes(Model &model) {
  model.input("x", {1}).node("Expand", {"x", "c"}, {"y"}).output("y");
  return import(model);
}

TEST(Fold, Slices) {
  const std::tuple<Ints, Ints, Ints, const char *> cases[] = {
      {{1}, {3}, {1}, "tensor<3x5xf32>"},
      {{-2}, {1000}, {1}, "tensor<5x7xf32>"},
      {{-1}, {std::numeric_limits<int64_t>::min()}, {-1}, "tensor<7x5x3x2xf32>"},
      {{3}, {0}, {-2}, "tensor<7x3xf32>"},
  };
  for (const auto &[start, end, step, type] : cases) {
    Model model(13);
    model.ints("all", {2, 3, 5, 7}).ints("start", start).ints("end", end).ints("step", step);
    model.ints("axes", {0}).node("Slice", {"all", "start", "end", "axes", "step"}, {"c"});
    EXPECT_TRUE(contains(sizes(model), {std::string("-> ") + type}));
  }
  Model old(9);
  old.ints("all", {2, 3, 5, 7});
  old.node("Slice", {"all"}, {"c"}, {{"starts", Ints{1}}, {"ends", Ints{3}}});
  EXPECT_TRUE(contains(sizes(old), {"-> tensor<3x5xf32>"}));

  Model zero(13);
  zero.ints("all", {2}).ints("i", {0}).node("Slice", {"all", "i", "i", "i", "i"}, {"c"});
  EXPECT_TRUE(contains(sizes(zero), {"c_node: Slice: has a step of 0"}));
}

TEST(Fold, Arithmetic) {
  const std::tuple<const char *, Ints, const char *> cases[] = {
      {"Add", {2, 3}, "tensor<8x9xf32>"},   {"Sub", {2, 3}, "tensor<4x3xf32>"},
      {"Mul", {2, 3}, "tensor<12x18xf32>"}, {"Div", {4, -6}, ""},
      {"Max", {2, 9}, "tensor<6x9xf32>"},   {"Min", {2, 9}, "tensor<2x6xf32>"}};
  for (const auto &[op, operand, type] : cases) {
    Model model(13);
    model.ints("six", {6}).ints("b", operand).node(op, {"six", "b"}, {"c"});
    if (*type)
      EXPECT_TRUE(contains(sizes(model), {std::string("-> ") + type})) << op;
    else // 6 / 4 = 1, 6 / -6 = -1
      EXPECT_TRUE(contains(sizes(model), {"asks for an impossible shape"})) << op;
  }
  Model byZero(13);
  byZero.ints("six", {6}).ints("b", {0}).node("Div", {"six", "b"}, {"c"});
  EXPECT_TRUE(contains(sizes(byZero), {"c_node: Div: divides by zero"}));

  // The smallest integer divided by -1 wraps; it does not trap.
  Model smallest(13);
  smallest.ints("a", {std::numeric_limits<int64_t>::min()}).ints("b", {-1});
  smallest.node("Div", {"a", "b"}, {"c"});
  EXPECT_TRUE(contains(sizes(smallest), {"impossible shape"}));
}

TEST(Fold, ThroughFloats) {
  // floor(7 * 0.5) = 3, as resizing exporters write it.
  Model model(13);
  model.ints("seven", {7}).node("Cast", {"seven"}, {"f"}, {{"to", f32}});
  model.node("Constant", {}, {"half"}, {{"value", floatTensor({}, {0.5f})}});
  model.node("Mul", {"f", "half"}, {"m"}).node("Floor", {"m"}, {"fl"});
  model.node("Cast", {"fl"}, {"c"}, {{"to", i64}});
  EXPECT_TRUE(contains(sizes(model), {"-> tensor<3xf32>"}));
}

TEST(Fold, SelectionAndComparison) {
  Model model(16);
  model.ints("a", {2, 7}).ints("b", {5, 3}).node("Less", {"a", "b"}, {"less"});
  model.node("Where", {"less", "a", "b"}, {"c"});
  EXPECT_TRUE(contains(sizes(model), {"-> tensor<2x3xf32>"}));
}

TEST(Fold, RangeReductionAndIndexing) {
  Model model(13);
  for (auto [name, value] : {std::pair("one", 1), {"five", 5}})
    model.initializer(intTensor({}, {value}, name));
  model.node("Range", {"one", "five", "one"}, {"r"});               // 1 2 3 4
  model.node("ReduceProd", {"r"}, {"product"}, {{"keepdims", 1}});  // [24]
  model.ints("last", {-1}).node("Gather", {"r", "last"}, {"four"}); // [4]
  model.node("Concat", {"product", "four"}, {"c"}, {{"axis", -1}});
  EXPECT_TRUE(contains(sizes(model), {"-> tensor<24x4xf32>"}));

  Model outside(13);
  outside.ints("a", {2}).ints("i", {1}).node("Gather", {"a", "i"}, {"c"});
  EXPECT_TRUE(
      contains(sizes(outside), {"c_node: Gather: index 1 is outside a dimension of size 1"}));
}

TEST(Fold, ShapeHasAStartAndAnEnd) {
  Model model(15);
  model.input("z", {2, 3, 4}).node("Shape", {"z"}, {"c"}, {{"start", 1}, {"end", -1}});
  EXPECT_TRUE(contains(sizes(model), {"-> tensor<3xf32>"}));
  Model size(15);
  size.input("z", {2, 3, 4}).node("Size", {"z"}, {"s"});
  size.ints("one", {1}).node("Reshape", {"s", "one"}, {"c"});
  EXPECT_TRUE(contains(sizes(size), {"-> tensor<24xf32>"}));
}

TEST(Fold, OneNumberRepeatedIsAConstantOfAnySize) {
  Model model(13);
  model.input("x", {1000, 1000, 100}).node("Shape", {"x"}, {"shape"});
  model.node("ConstantOfShape", {"shape"}, {"ones"}, {{"value", floatTensor({1}, {1.0f})}});
  model.node("Add", {"x", "ones"}, {"y"}).output("y");
  EXPECT_TRUE(
      contains(import(model), {"arith.constant dense<1.000000e+00> : tensor<1000x1000x100xf32>"}));
}

TEST(Fold, OtherConstantsBecomeParametersThatAreNotTrained) {
  // A causal mask: the comparison of two ranges.
  Model model(13);
  model.input("x", {3, 3});
  for (auto [name, value] : {std::pair("zero", 0), {"one", 1}, {"three", 3}})
    model.initializer(intTensor({}, {value}, name));
  model.node("Range", {"zero", "three", "one"}, {"column"});
  model.ints("shape", {3, 1}).node("Reshape", {"column", "shape"}, {"row"});
  model.node("Greater", {"column", "row"}, {"mask"});
  model.node("Constant", {}, {"low"}, {{"value", floatTensor({}, {-1e9f})}});
  model.node("Where", {"mask", "low", "x"}, {"y"}).output("y");
  TemporaryFolder folder;
  Imported imported(folder.write("m.onnx", model.proto.SerializeAsString()));
  ASSERT_TRUE(imported.model) << imported.diagnostics;
  EXPECT_TRUE(contains(imported.text(), {"%arg1: tensor<3x3xi1> {train.parameter = \"mask\"})",
                                         "train.select %arg1"}));
  ASSERT_EQ(imported.model->weights.size(), 1u);
  EXPECT_EQ(
      std::string(imported.model->weights[0].bytes.begin(), imported.model->weights[0].bytes.end()),
      std::string("\0\1\1\0\0\1\0\0\0", 9));
}

/// The numbers of the value "c", and its shape in front of them.
Ints numbers(Model &model) {
  model.output("c", i64);
  TemporaryFolder folder;
  Imported imported(folder.write("m.onnx", model.proto.SerializeAsString()));
  EXPECT_TRUE(imported.model) << imported.diagnostics;
  if (!imported.model || imported.model->weights.size() != 1)
    return {};
  const Weight &weight = imported.model->weights[0];
  Ints result(weight.type.getShape());
  for (size_t at = 0; at < weight.bytes.size(); at += 8) {
    int64_t number;
    std::memcpy(&number, weight.bytes.data() + at, 8);
    result.push_back(number);
  }
  return result;
}

/// A model with the constant a = [[0, 1, 2], [3, 4, 5]].
Model matrix(int64_t opset = 13) {
  Model model(opset);
  model.initializer(intTensor({2, 3}, {0, 1, 2, 3, 4, 5}, "a"));
  return model;
}

TEST(Fold, MovesMatrices) {
  Model transposed = matrix();
  transposed.node("Transpose", {"a"}, {"c"});
  EXPECT_EQ(numbers(transposed), (Ints{3, 2, 0, 3, 1, 4, 2, 5}));

  Model gathered = matrix();
  gathered.initializer(intTensor({2, 1}, {2, -3}, "i"))
      .node("Gather", {"a", "i"}, {"c"}, {{"axis", 1}});
  EXPECT_EQ(numbers(gathered), (Ints{2, 2, 1, 2, 0, 5, 3}));

  Model sliced = matrix();
  sliced.ints("start", {-1, 2}).ints("end", {-100, 0}).ints("axes", {0, 1}).ints("step", {-1, -1});
  sliced.node("Slice", {"a", "start", "end", "axes", "step"}, {"c"});
  EXPECT_EQ(numbers(sliced), (Ints{2, 2, 5, 4, 2, 1}));

  Model joined = matrix();
  joined.initializer(intTensor({2, 1}, {7, 7}, "b"));
  joined.node("Concat", {"a", "b", "a"}, {"c"}, {{"axis", 1}});
  EXPECT_EQ(numbers(joined), (Ints{2, 7, 0, 1, 2, 7, 0, 1, 2, 3, 4, 5, 7, 3, 4, 5}));

  Model expanded(13);
  expanded.initializer(intTensor({2, 1}, {1, 2}, "a")).ints("n", {2, 1, 2});
  expanded.node("Expand", {"a", "n"}, {"c"});
  EXPECT_EQ(numbers(expanded), (Ints{2, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2}));

  Model unsqueezed = matrix();
  unsqueezed.ints("axes", {1}).node("Unsqueeze", {"a", "axes"}, {"c"});
  EXPECT_EQ(numbers(unsqueezed), (Ints{2, 1, 3, 0, 1, 2, 3, 4, 5}));
}

TEST(Fold, BroadcastsAndReduces) {
  Model sum = matrix();
  sum.ints("b", {10, 20, 30}).node("Add", {"a", "b"}, {"c"});
  EXPECT_EQ(numbers(sum), (Ints{2, 3, 10, 21, 32, 13, 24, 35}));

  Model rows = matrix();
  rows.ints("axes", {1}).node("ReduceSum", {"a", "axes"}, {"c"}, {{"keepdims", 0}});
  EXPECT_EQ(numbers(rows), (Ints{2, 3, 12}));

  Model columns = matrix(11);
  columns.node("ReduceMax", {"a"}, {"m"}, {{"axes", Ints{0}}}).node("Neg", {"m"}, {"c"});
  EXPECT_EQ(numbers(columns), (Ints{1, 3, -3, -4, -5}));

  Model chosen = matrix(16);
  chosen.initializer(intTensor({2, 1}, {1, 4}, "limit")).initializer(intTensor({}, {-1}, "other"));
  chosen.node("Greater", {"a", "limit"}, {"more"}).node("Not", {"more"}, {"less"});
  chosen.node("Where", {"less", "a", "other"}, {"c"});
  EXPECT_EQ(numbers(chosen), (Ints{2, 3, 0, 1, -1, 3, 4, -1}));
}

TEST(Fold, CastsRoundAndTruncate) {
  Model model(13);
  model.node("Constant", {}, {"f"}, {{"value_float", -2.7f}});
  model.node("Cast", {"f"}, {"i"}, {{"to", i64}}).ints("n", {1, 2}).node("Mul", {"i", "n"}, {"c"});
  EXPECT_EQ(numbers(model), (Ints{2, -2, -4}));

  // 2^24 + 1 is no float; the tie goes to even.
  Model rounded(13);
  rounded.ints("big", {16777217, 16777219}).node("Cast", {"big"}, {"f"}, {{"to", f32}});
  rounded.node("Cast", {"f"}, {"c"}, {{"to", i64}});
  EXPECT_EQ(numbers(rounded), (Ints{2, 16777216, 16777220}));

  // What does not fit saturates; NaN is 0.
  Model outside(13);
  outside.node("Constant", {}, {"huge"}, {{"value_float", 1e30f}});
  outside.node("Constant", {}, {"nan"}, {{"value_float", std::numeric_limits<float>::quiet_NaN()}});
  outside.node("Cast", {"huge"}, {"h"}, {{"to", i64}}).node("Cast", {"nan"}, {"n"}, {{"to", i64}});
  outside.ints("one", {1})
      .node("Reshape", {"h", "one"}, {"h1"})
      .node("Reshape", {"n", "one"}, {"n1"});
  outside.node("Concat", {"h1", "n1"}, {"c"}, {{"axis", 0}});
  EXPECT_EQ(numbers(outside), (Ints{2, std::numeric_limits<int64_t>::max(), 0}));
}

TEST(Fold, MemoryIsBounded) {
  for (int64_t size : {int64_t(1) << 40, std::numeric_limits<int64_t>::max()}) {
    Model model(13);
    model.initializer(intTensor({}, {0}, "zero")).initializer(intTensor({}, {1}, "one"));
    model.initializer(intTensor({}, {size}, "n")).node("Range", {"zero", "n", "one"}, {"c"});
    EXPECT_TRUE(contains(sizes(model), {"c_node: Range: has no end that can be computed"}));

    Model expanded(13);
    expanded.ints("a", {1, 2}).ints("n", {size, 2}).node("Expand", {"a", "n"}, {"c"});
    EXPECT_TRUE(contains(sizes(expanded), {"c_node: Expand: "}));
  }
  Model endless(13);
  endless.initializer(intTensor({}, {0}, "zero")).initializer(intTensor({}, {9}, "n"));
  endless.node("Range", {"zero", "n", "zero"}, {"c"});
  EXPECT_TRUE(contains(sizes(endless), {"c_node: Range: has no end"}));
}

TEST(Fold, WeightsAreNotFolded) {
  Model model(13);
  model.input("x", {2, 3}).weight("w", {4, 3}).node("Transpose", {"w"}, {"t"});
  model.node("MatMul", {"x", "t"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"train.transpose %arg1", "train.matmul"}));
}

TEST(Fold, ShapesThatDependOnDataAreAnError) {
  Model model(13);
  model.input("x", {2, 3}).input("shape", {2}, i64);
  model.node("Reshape", {"x", "shape"}, {"y"}).output("y");
  EXPECT_TRUE(
      contains(import(model), {"y_node: Reshape: the sizes of the new shape depend on data: "
                               "operand 1 ('shape') must be known when compiling"}));
}

} // namespace

//===- PartRulesTest.cpp - Slice, Split, Gather, Concat, Pad and their kin ===//

#include "RuleTest.h"

using namespace halfstep::test;

namespace {

Attribute text(const char *name, const char *value) {
  Attribute attribute(name, 0);
  attribute.proto.clear_i();
  attribute.proto.set_type(onnx::AttributeProto::STRING);
  attribute.proto.set_s(value);
  return attribute;
}

std::string place(const std::string &offsets, const std::string &sizes,
                  const std::string &strides) {
  return "{offsets = array<i64: " + offsets + ">, sizes = array<i64: " + sizes +
         ">, strides = array<i64: " + strides + ">}";
}

constexpr int64_t smallest = std::numeric_limits<int64_t>::min(),
                  largest = std::numeric_limits<int64_t>::max();

//===----------------------------------------------------------------------===//
// Slice, Split, Gather
//===----------------------------------------------------------------------===//

TEST(Slice, AttributesThenOperands) {
  std::string expected = "train.slice %arg0 " + place("1, 2", "2, 3", "1, 1");
  for (int64_t opset : {7, 9})
    EXPECT_TRUE(contains(
        importWithInts(opset, "Slice", {4, 6}, {}, {{"starts", Ints{1, 2}}, {"ends", Ints{3, 5}}}),
        {expected}))
        << opset;
  for (int64_t opset : {10, 11, 13, 17, 28})
    EXPECT_TRUE(contains(
        importWithInts(opset, "Slice", {4, 6}, {{2, 1}, {-1, 3}, {-1, 0}, {1, 1}}, {}), {expected}))
        << opset;
}

TEST(Slice, PositionsAreClampedAsTheWalkGoes) {
  struct Case {
    int64_t start, end, step;
    std::string place;
  };
  for (const Case &c : {Case{0, largest, 1, place("0", "7", "1")},
                        {-3, largest, 1, place("4", "3", "1")},
                        {-100, 3, 2, place("0", "2", "2")},
                        {5, 1 << 30, 3, place("5", "1", "1")},
                        {largest, smallest, -1, place("6", "7", "-1")},
                        {-1, 0, -2, place("6", "3", "-2")},
                        {4, -7, -3, place("4", "2", "-3")},
                        {1, smallest, 1, ""},
                        {0, 7, (1 << 30) - 1, place("0", "1", "1")}}) {
    std::string result = importWithInts(13, "Slice", {7}, {{c.start}, {c.end}, {0}, {c.step}}, {});
    EXPECT_TRUE(
        contains(result, {c.place.empty() ? "y: 'y' has no elements ('tensor<0xf32>')" : c.place}))
        << c.start << " " << c.end << " " << c.step;
  }
}

TEST(Slice, WhatIsWrongIsAnError) {
  EXPECT_TRUE(contains(importWithInts(13, "Slice", {7}, {{0}, {3}, {0}, {0}}, {}),
                       {"y_node: Slice: has a step of 0"}));
  EXPECT_TRUE(contains(importWithInts(13, "Slice", {7}, {{0}, {3}, {0}, {largest}}, {}),
                       {"it must be a number below 2^30"}));
  EXPECT_TRUE(contains(importWithInts(13, "Slice", {7, 7}, {{0, 0}, {3, 3}, {1, -1}}, {}),
                       {"an axis is named twice"}));
  EXPECT_TRUE(contains(importWithInts(13, "Slice", {7}, {{0}, {3}, {1}}, {}),
                       {"axis 1 is not a dimension of a tensor of rank 1"}));
  EXPECT_TRUE(
      contains(importWithInts(13, "Slice", {7, 7}, {{0, 0}, {3}}, {}), {"differ in length"}));
  Model model(13);
  model.input("x", {7}).input("s", {1}, i64).ints("e", {3});
  model.node("Slice", {"x", "s", "e"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"y_node: Slice: starts depend on data: operand 1 ('s')"}));
}

TEST(Split, SizesOfEveryOperatorSet) {
  std::string first = place("0, 0", "2, 4", "1, 1"), second = place("0, 4", "2, 2", "1, 1");
  std::vector<Attribute> sizes{{"axis", 1}, {"split", Ints{4, 2}}};
  for (int64_t opset : {7, 11})
    EXPECT_TRUE(
        contains(importWithInts(opset, "Split", {2, 6}, {}, sizes, {"y", "z"}), {first, second}))
        << opset;
  for (int64_t opset : {13, 18, 28})
    EXPECT_TRUE(
        contains(importWithInts(opset, "Split", {2, 6}, {{4, 2}}, {{"axis", -1}}, {"y", "z"}),
                 {first, second}))
        << opset;
  for (int64_t opset : {7, 11, 13})
    EXPECT_TRUE(contains(importWithInts(opset, "Split", {2, 6}, {}, {{"axis", 1}}, {"y", "z"}),
                         {place("0, 0", "2, 3", "1, 1"), place("0, 3", "2, 3", "1, 1")}))
        << opset;
  // The last one is smaller; one that nobody reads is not there.
  EXPECT_TRUE(contains(importWithInts(18, "Split", {7}, {}, {{"num_outputs", 3}}, {"y", "", "z"}),
                       {place("0", "3", "1"), place("6", "1", "1")}));
}

TEST(Split, WhatIsNoPartitionIsAnError) {
  EXPECT_TRUE(contains(importWithInts(13, "Split", {7}, {{4, 2}}, {}, {"y", "z"}),
                       {"y_node: Split: its sizes are not 2 parts of a dimension of size 7"}));
  EXPECT_TRUE(contains(importWithInts(13, "Split", {7}, {{8, -1}}, {}, {"y", "z"}),
                       {"its sizes are not 2 parts"}));
  EXPECT_TRUE(contains(importWithInts(13, "Split", {7}, {}, {}, {"y", "z"}),
                       {"cannot split a dimension of size 7 into 2 equal parts"}));
  EXPECT_TRUE(
      contains(importWithInts(18, "Split", {5}, {}, {{"num_outputs", 4}}, {"y", "z", "u", "v"}),
               {"cannot split a dimension of size 5 into 4 parts: each but the last has "
                "5 / 4 elements, rounded up, which are 2, and leaves -1 for the last"}));
  EXPECT_TRUE(contains(importWithInts(18, "Split", {6}, {}, {{"num_outputs", 3}}, {"y", "z"}),
                       {"has num_outputs 3, but 2 outputs"}));
}

/// What has no elements is known, and adds nothing to a Concat.
TEST(EmptyPieces, JoinAndHaveShapes) {
  using Build = void (*)(Model &);
  for (Build build :
       {+[](Model &m) { // ONNX's rule: 2, 2, 2 and 0
          m.node("Split", {"x"}, {"a", "b", "c", "e"}, {{"num_outputs", 4}});
        },
        +[](Model &m) { m.ints("sizes", {6, 0}).node("Split", {"x", "sizes"}, {"a", "e"}); },
        +[](Model &m) { m.ints("at", {3}).node("Slice", {"x", "at", "at"}, {"e"}); },
        +[](Model &m) { m.ints("p", {-4, -2}).node("Pad", {"x", "p"}, {"e"}); },
        +[](Model &m) {
          m.initializer(intTensor({0}, {}, "none")).node("Gather", {"x", "none"}, {"e"});
        }}) {
    Model joined(18), shaped(18), read(18);
    for (Model *model : {&joined, &shaped, &read}) {
      model->input("x", {6});
      build(*model);
    }
    joined.node("Concat", {"e", "x", "e"}, {"y"}, {{"axis", 0}}).output("y");
    EXPECT_TRUE(contains(import(joined), {"return %arg0 : tensor<6xf32>"}));
    shaped.node("Size", {"e"}, {"n"}).node("Cast", {"n"}, {"z"}, {{"to", f32}});
    shaped.node("Add", {"x", "z"}, {"y"}).output("y");
    EXPECT_TRUE(contains(import(shaped), {"dense<0.000000e+00> : tensor<f32>"}));
    read.node("Relu", {"e"}, {"y"}).output("y");
    EXPECT_TRUE(contains(import(read), {"y_node: Relu: 'e' has no elements ('tensor<0xf32>'): only "
                                        "Concat and ops on shapes take such a tensor"}));
  }
}

TEST(Gather, KnownIndicesAreSlices) {
  // A scalar removes the dimension.
  Model model(13);
  model.input("x", {2, 5, 3}).initializer(intTensor({}, {-2}, "i"));
  model.node("Gather", {"x", "i"}, {"y"}, {{"axis", 1}}).output("y");
  EXPECT_TRUE(
      contains(import(model), {"train.slice %arg0 " + place("0, 3, 0", "2, 1, 3", "1, 1, 1"),
                               "train.reshape", "-> tensor<2x3xf32>"}));
  EXPECT_TRUE(
      contains(importWithInts(13, "Gather", {7}, {{6, 4, 2}}, {}), {place("6", "3", "-2")}));
  // Runs 0 1 2, 2 and 5 6.
  EXPECT_TRUE(
      contains(importWithInts(13, "Gather", {7}, {{0, 1, 2, 2, 5, 6}}, {}),
               {place("0", "3", "1"), place("2", "2", "3"), place("6", "1", "1"), "train.concat"}));
  EXPECT_TRUE(contains(importWithInts(13, "Gather", {7}, {{7}}, {}),
                       {"index 7 is outside a dimension of size 7"}));
  Model dynamic(13);
  dynamic.input("x", {7}).input("i", {2}, i64).node("Gather", {"x", "i"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(dynamic), {"y_node: Gather: indices depend on data"}));
}

//===----------------------------------------------------------------------===//
// Concat, Pad
//===----------------------------------------------------------------------===//

TEST(Concat, AxesAndEmptyPieces) {
  for (int64_t opset : {7, 11, 13, 28})
    for (int64_t axis : {1, -2}) {
      Model model(opset);
      model.input("x", {2, 3, 4}).input("z", {2, 1, 4});
      model.node("Concat", {"x", "z"}, {"y"}, {{"axis", axis}}).output("y");
      EXPECT_TRUE(contains(import(model),
                           {"train.concat %arg0, %arg1 {axis = 1 : i64}", "-> tensor<2x4x4xf32>"}))
          << opset;
    }
  Model empty;
  empty.initializer(floatTensor({0, 3}, {}, "none")).input("x", {2, 3});
  empty.node("Concat", {"none", "x"}, {"y"}, {{"axis", 0}}).output("y");
  EXPECT_TRUE(contains(import(empty), {"return %arg0"}));
  Model different;
  different.input("x", {2, 3}).input("z", {2, 4}).node("Concat", {"x", "z"}, {"y"}, {{"axis", 0}});
  different.output("y");
  EXPECT_TRUE(
      contains(import(different), {"y_node: Concat: ", "cannot join", "along dimension 0"}));
}

TEST(Pad, AttributesThenOperands) {
  std::string around = place("0, 1", "3, 6", "1, 1");
  for (int64_t opset : {7, 9})
    EXPECT_TRUE(contains(
        importWithInts(opset, "Pad", {2, 3}, {}, {{"pads", Ints{0, 1, 1, 2}}, {"value", 1.5f}}),
        {"dense<1.500000e+00>", "train.pad %arg0", around}))
        << opset;
  for (int64_t opset : {11, 13, 17, 18, 28})
    EXPECT_TRUE(contains(importWithInts(opset, "Pad", {2, 3}, {{0, 1, 1, 2}}, {}),
                         {"dense<0.000000e+00>", "train.pad %arg0", around}))
        << opset;
  for (int64_t opset : {18, 28})
    EXPECT_TRUE(contains(importWithInts(opset, "Pad", {2, 3}, {{1, 0, 2, 1}, {}, {-1, 0}}, {}),
                         {"train.pad %arg0", around}))
        << opset;
  // An initializer is no weight to train, a scalar of the step stays one.
  Model known(13);
  known.input("x", {3}).initializer(floatTensor({}, {2.5f}, "v")).ints("p", {1, 0});
  known.node("Pad", {"x", "p", "v"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(known), {"@forward(%arg0: tensor<3xf32> {train.input = \"x\"}) ->",
                                       "dense<2.500000e+00> : tensor<f32>"}));
  Model model(13);
  model.input("x", {3}).input("v", {1}).ints("p", {1, 0});
  model.node("Pad", {"x", "p", "v"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"train.reshape %arg1 {sizes = array<i64>}",
                                       "train.pad %arg0, %0 " + place("1", "4", "1")}));
}

TEST(Pad, NegativeOnesCrop) {
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5, 6}, {{-1, 2, -2, 0}}, {}),
                       {"train.slice %arg0 " + place("1, 0", "2, 6", "1, 1"), "train.pad %0",
                        place("0, 2", "2, 8", "1, 1")}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{0, 0}}, {}), {"return %arg0"}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{-3, -2}}, {}), {"y: 'y' has no elements"}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{-3, -3}}, {}),
                       {"y_node: Pad: crops all of dimension 0 of", ", and more"}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{-5, 2}}, {}),
                       {"y_node: Pad: crops all of dimension 0 of", "before it pads it"}));
}

TEST(Pad, NeighbourhoodsArePartsOfTheTensor) {
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{2, 1}}, {text("mode", "reflect")}),
                       {place("2", "2", "-1"), place("3", "1", "-1"), "train.concat"}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{2, 1}}, {text("mode", "edge")}),
                       {place("0", "1", "1"), "train.broadcast", "-> tensor<2xf32>",
                        place("4", "1", "1"), "train.concat"}));
  EXPECT_TRUE(contains(importWithInts(19, "Pad", {5}, {{2, 3}}, {text("mode", "wrap")}),
                       {place("3", "2", "1"), place("0", "3", "1"), "train.concat"}));
  // Beyond a period: 13 = 2 * 5 + 3 elements in front, 8 = 5 + 3 behind.
  EXPECT_TRUE(contains(importWithInts(19, "Pad", {5}, {{13, 8}}, {text("mode", "wrap")}),
                       {"-> tensor<4x5xf32>", "-> tensor<20xf32>", place("2", "3", "1"),
                        place("0", "3", "1"), "-> tensor<26xf32>"}));
  EXPECT_TRUE(contains(importWithInts(19, "Pad", {5}, {{5, 0}}, {text("mode", "wrap")}),
                       {"-> tensor<2x5xf32>", "return %2 : tensor<10xf32>"}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{5, 0}}, {text("mode", "reflect")}),
                       {"y_node: Pad: pads dimension 0 of size 5 by more than 4 in mode reflect"}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{5, 0}}, {text("mode", "mirror")}),
                       {"has a mode 'mirror', which ONNX does not know"}));
}

TEST(Pad, WhatDoesNotFitIsAnError) {
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{1, 1, 1}}, {}),
                       {"needs two pads for each of 1 dimensions"}));
  EXPECT_TRUE(contains(importWithInts(13, "Pad", {5}, {{largest, 1}}, {}),
                       {"only numbers below 2^31 are supported"}));
  EXPECT_TRUE(contains(importWithInts(18, "Pad", {5, 5}, {{1, 1, 1, 1}, {}, {1, -1}}, {}),
                       {"an axis is named twice"}));
}

//===----------------------------------------------------------------------===//
// Tile, DepthToSpace, SpaceToDepth
//===----------------------------------------------------------------------===//

TEST(Tile, RepeatsEachDimension) {
  for (int64_t opset : {7, 13})
    EXPECT_TRUE(contains(importWithInts(opset, "Tile", {2, 3}, {{3, 2}}, {}),
                         {"train.reshape %arg0 {sizes = array<i64: 1, 2, 1, 3>}",
                          "train.broadcast %0 {sizes = array<i64: 3, 2, 2, 3>}",
                          "train.reshape %1 {sizes = array<i64: 6, 6>}"}))
        << opset;
  EXPECT_TRUE(contains(importWithInts(13, "Tile", {2, 3}, {{3, 0}}, {}),
                       {"y_node: Tile: cannot repeat a dimension 0 times"}));
  EXPECT_TRUE(contains(importWithInts(13, "Tile", {2, 3}, {{3}}, {}), {"has 1 repeats for"}));
}

TEST(Blocks, WhatDoesNotDivideIsAnError) {
  EXPECT_TRUE(contains(importWithInts(13, "DepthToSpace", {1, 6, 2, 2}, {}, {{"blocksize", 2}}),
                       {"y_node: DepthToSpace: cannot move blocks of size 2"}));
  EXPECT_TRUE(contains(importWithInts(13, "SpaceToDepth", {1, 6, 2, 3}, {}, {{"blocksize", 2}}),
                       {"y_node: SpaceToDepth: cannot move blocks of size 2"}));
  EXPECT_TRUE(contains(importWithInts(13, "SpaceToDepth", {1, 6, 2, 3}, {}, {{"blocksize", 0}}),
                       {"cannot move blocks of size 0"}));
}

} // namespace

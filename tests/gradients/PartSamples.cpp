//===- PartSamples.cpp - Slices, and tensors put together -----------------===//

#include "Samples.h"
#include "Source.h"

namespace {
using Samples = std::vector<Sample>;

/// Every kind of place, as a part that is taken out and as one that is surrounded.
void addPlaces(Samples &all) {
  struct Place {
    std::string part, whole, offsets, strides;
    bool hasMuchAround = false;
  };
  auto sizesOf = [](const std::string &type) { // of "2x3xf64"
    std::string sizes = type.substr(0, type.rfind('x'));
    for (size_t at; (at = sizes.find('x')) != std::string::npos;)
      sizes.replace(at, 1, ", ");
    return sizes;
  };
  for (auto &p : std::vector<Place>{{"3xf64", "7xf64", "2", "1"},
                                    {"3xf64", "7xf64", "0", "3"},
                                    {"4xf64", "7xf64", "6", "-2"},
                                    {"1xf64", "7xf64", "6", "1"},
                                    {"5xf64", "5xf64", "4", "-1"},
                                    {"4x2xf64", "4x6xf64", "0, 3", "1, 1"},
                                    {"2x6xf64", "5x6xf64", "1, 0", "2, 1"},
                                    {"2x1x3xf64", "3x4x5xf64", "1, 2, 4", "1, 1, -2"},
                                    {"2x17x3xf64", "2x40x3xf64", "0, 5, 0", "1, 2, 1", true}}) {
    std::string place = "{offsets = " + array(p.offsets) + ", strides = " + array(p.strides) +
                        ", sizes = ",
                part = place + array(sizesOf(p.part)) + "}",
                whole = place + array(sizesOf(p.whole)) + "}";
    all.push_back(sampleOf("slice", "movement", {{p.whole}}, part, p.part));
    // With a constant and with a computed value around it. The gradient of that is a sum over all
    // around the part, whose roundings no bound of a single op covers where that is much.
    if (!p.hasMuchAround)
      all.push_back(sampleOf("pad", "movement", {{p.part}, {"f64"}}, whole, p.whole));
    all.push_back({"pad",
                   "movement",
                   {{p.part}},
                   "%c = arith.constant dense<-1.5> : tensor<f64>\n" +
                       typed("%y = train.pad %0, %c " + whole, {p.part, "f64"}, p.whole),
                   p.whole});
  }
}

void addConcats(Samples &all) {
  struct Pieces {
    std::vector<std::string> types;
    std::string axis, result;
  };
  for (auto &p : std::vector<Pieces>{{{"2x3xf64"}, "0", "2x3xf64"},
                                     {{"2x3xf64", "4x3xf64"}, "0", "6x3xf64"},
                                     {{"2x3xf64", "2x1xf64", "2x33xf64"}, "1", "2x37xf64"},
                                     {{"3x2x5xf64", "3x4x5xf64", "3x1x5xf64"}, "1", "3x7x5xf64"},
                                     {{"1xf64", "1xf64"}, "0", "2xf64"}}) {
    std::vector<Operand> operands;
    for (const std::string &type : p.types)
      operands.push_back({type});
    all.push_back(
        sampleOf("concat", "movement", operands, "{axis = " + p.axis + " : i64}", p.result));
  }
}

/// What computes parts, what reads them, and parts of parts.
void addPartsAmongOthers(Samples &all) {
  auto add = [&](const std::string &op, const std::vector<Operand> &operands,
                 const std::string &body, const std::string &result) {
    all.push_back({op, "movement", operands, body, result});
  };
  // Taken apart and put together in another order; one part is used twice, one not at all.
  add("slice", {{"3x8xf64"}},
      "%a = train.slice %0 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>, sizes = "
      "array<i64: 3, 2>} : (tensor<3x8xf64>) -> tensor<3x2xf64>\n"
      "%b = train.slice %0 {offsets = array<i64: 0, 2>, strides = array<i64: 1, 1>, sizes = "
      "array<i64: 3, 3>} : (tensor<3x8xf64>) -> tensor<3x3xf64>\n"
      "%e = train.exp %a : (tensor<3x2xf64>) -> tensor<3x2xf64>\n"
      "%t = train.tanh %b : (tensor<3x3xf64>) -> tensor<3x3xf64>\n"
      "%y = train.concat %t, %e, %b {axis = 1 : i64} : (tensor<3x3xf64>, tensor<3x2xf64>, "
      "tensor<3x3xf64>) -> tensor<3x8xf64>",
      "3x8xf64");
  // Parts as operands of products: a range of rows, which is an alias, and one of columns.
  add("slice", {{"6x8xf64"}, {"4x5xf64"}},
      "%a = train.slice %0 {offsets = array<i64: 2, 0>, strides = array<i64: 1, 1>, sizes = "
      "array<i64: 3, 8>} : (tensor<6x8xf64>) -> tensor<3x8xf64>\n"
      "%b = train.slice %a {offsets = array<i64: 0, 1>, strides = array<i64: 1, 2>, sizes = "
      "array<i64: 3, 4>} : (tensor<3x8xf64>) -> tensor<3x4xf64>\n"
      "%c = train.matmul %b, %1 : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>\n"
      "%d = train.matmul %c, %a {transA = true} : (tensor<3x5xf64>, tensor<3x8xf64>) -> "
      "tensor<5x8xf64>\n"
      "%y = train.concat %d, %0 {axis = 0 : i64} : (tensor<5x8xf64>, tensor<6x8xf64>) -> "
      "tensor<11x8xf64>",
      "11x8xf64");
  // Reductions of parts, and parts that are reduced values.
  add("concat", {{"4x6xf64"}, {"4x2xf64"}},
      "%a = train.slice %0 {offsets = array<i64: 3, 5>, strides = array<i64: -1, -2>, sizes = "
      "array<i64: 4, 3>} : (tensor<4x6xf64>) -> tensor<4x3xf64>\n"
      "%s = train.sum %a {axes = array<i64: 1>} : (tensor<4x3xf64>) -> tensor<4x1xf64>\n"
      "%n = train.softmax %0 {axis = 1 : i64} : (tensor<4x6xf64>) -> tensor<4x6xf64>\n"
      "%y = train.concat %1, %s, %n, %s {axis = 1 : i64} : (tensor<4x2xf64>, tensor<4x1xf64>, "
      "tensor<4x6xf64>, tensor<4x1xf64>) -> tensor<4x10xf64>",
      "4x10xf64");
  add("concat", {{"4x6xf64"}, {"2x6xf64"}},
      "%s = train.sum %0 {axes = array<i64: 0>} : (tensor<4x6xf64>) -> tensor<1x6xf64>\n"
      "%y = train.concat %s, %1, %s {axis = 0 : i64} : (tensor<1x6xf64>, tensor<2x6xf64>, "
      "tensor<1x6xf64>) -> tensor<4x6xf64>",
      "4x6xf64");
  // Each part is read where the second one is written: that part's element is at hand, the first
  // part's is not, though both are walked along the same strides.
  add("concat", {{"3x4xf64"}, {"3x4xf64"}},
      "%e = train.exp %1 : (tensor<3x4xf64>) -> tensor<3x4xf64>\n"
      "%j = train.concat %0, %e {axis = 1 : i64} : (tensor<3x4xf64>, tensor<3x4xf64>) -> "
      "tensor<3x8xf64>\n"
      "%a = train.slice %j {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>, sizes = "
      "array<i64: 3, 4>} : (tensor<3x8xf64>) -> tensor<3x4xf64>\n"
      "%b = train.slice %j {offsets = array<i64: 0, 4>, strides = array<i64: 1, 1>, sizes = "
      "array<i64: 3, 4>} : (tensor<3x8xf64>) -> tensor<3x4xf64>\n"
      "%y = train.mul %a, %b : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>",
      "3x4xf64");
  // What lies beneath a broadcast and a reshape is a part.
  add("slice", {{"3x4xf64"}, {"2x2x3xf64"}},
      "%a = train.slice %0 {offsets = array<i64: 2, 1>, strides = array<i64: 1, 1>, sizes = "
      "array<i64: 1, 3>} : (tensor<3x4xf64>) -> tensor<1x3xf64>\n"
      "%b = train.broadcast %a {sizes = array<i64: 2, 3>} : (tensor<1x3xf64>) -> tensor<2x3xf64>\n"
      "%c = train.slice %1 {offsets = array<i64: 0, 1, 0>, strides = array<i64: 1, 1, 1>, sizes = "
      "array<i64: 2, 1, 3>} : (tensor<2x2x3xf64>) -> tensor<2x1x3xf64>\n"
      "%d = train.reshape %c {sizes = array<i64: 2, 3>} : (tensor<2x1x3xf64>) -> tensor<2x3xf64>\n"
      "%y = train.mul %b, %d : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>",
      "2x3xf64");
}

} // namespace

void addParts(Samples &all) {
  addPlaces(all);
  addConcats(all);
  addPartsAmongOthers(all);
}

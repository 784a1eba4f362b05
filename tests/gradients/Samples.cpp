//===- Samples.cpp - A use of every differentiable op ---------------------===//
//
// An op without a sample fails the test. Elementwise ops get one sample for every way in which
// operands can be broadcast; the others state what is special about them.
//
//===----------------------------------------------------------------------===//

#include "Samples.h"
#include "Source.h"

namespace {
using Samples = std::vector<Sample>;

void addUnary(Samples &all, const std::string &op, Domain domain) {
  for (std::string type : {"2x3xf64", "f64", "1x1xf64", "5x17xf64"})
    all.push_back(sampleOf(op, "elementwise", {{type, domain}}, "", type));
}

void addBinary(Samples &all, const std::string &op, Domain lhsDomain, Domain rhsDomain) {
  struct Shapes {
    std::string lhs, rhs, result;
  };
  for (auto &s : std::vector<Shapes>{{"2x3xf64", "2x3xf64", "2x3xf64"},
                                     {"2x3xf64", "3xf64", "2x3xf64"},
                                     {"2x1xf64", "1x3xf64", "2x3xf64"},
                                     {"f64", "4x2x3xf64", "4x2x3xf64"},
                                     {"4x1x3xf64", "2x1xf64", "4x2x3xf64"}})
    all.push_back(
        sampleOf(op, "elementwise", {{s.lhs, lhsDomain}, {s.rhs, rhsDomain}}, "", s.result));
}

void addElementwise(Samples &all) {
  for (const char *op : {"neg", "abs", "exp", "tanh", "sin", "cos", "sigmoid", "relu", "erf"})
    addUnary(all, op, Domain::Any);
  for (const char *op : {"log", "sqrt", "rsqrt"})
    addUnary(all, op, Domain::Positive);
  for (const char *op : {"add", "sub", "mul", "div"})
    addBinary(all, op, Domain::Any, Domain::Any);
  addBinary(all, "pow", Domain::Positive, Domain::Any);
  for (const char *op : {"maximum", "minimum"})
    addBinary(all, op, Domain::Any, Domain::Positive);
  // Both operands are the same value: two contributions to one adjoint.
  all.push_back({"mul",
                 "elementwise",
                 {{"3xf64"}},
                 typed("%y = train.mul %0, %0", {"3xf64", "3xf64"}, "3xf64"),
                 "3xf64"});
  all.push_back(sampleOf("select", "elementwise",
                         {{"2x3xi1", Domain::Flags}, {"2x3xf64"}, {"3xf64"}}, "", "2x3xf64"));
  all.push_back({"cast",
                 "elementwise",
                 {{"2x3xf64"}},
                 typed("%t = train.cast %0 to f64", {"2x3xf64"}, "2x3xf64") +
                     typed("%y = train.mul %t, %0", {"2x3xf64", "2x3xf64"}, "2x3xf64"),
                 "2x3xf64"});
}

void addActivations(Samples &all) {
  for (std::string op : {"elu", "hard_sigmoid", "hard_swish", "shrink", "swish", "gelu",
                         "gelu_tanh", "softplus", "mish", "softsign"}) {
    std::string attributes = op == "elu" ? "{alpha = 1.5, scale = 0.75, inputScale = 1.25}"
                             : op == "hard_sigmoid" ? "{alpha = 0.5, beta = 0.3}"
                             : op == "shrink"       ? "{bound = 1.5, bias = 1.5}"
                             : op == "swish"        ? "{alpha = 1.5}"
                                                    : "";
    // [-4, 4]: also what lies beyond the bounds of the pieces.
    for (std::string type : {"5x17xf64", "f64"})
      all.push_back({op,
                     "activation",
                     {{type}},
                     typed("%x = train.add %0, %0", {type, type}, type) +
                         typed("%y = train." + op + " %x " + attributes, {type}, type),
                     type});
  }
  all.push_back(sampleOf("leaky_relu", "activation", {{"4x3xf64"}, {"3xf64"}}, "", "4x3xf64"));
  // With bounds of either order.
  all.push_back(
      sampleOf("clip", "activation", {{"5x7xf64"}, {"7xf64"}, {"5x1xf64"}}, "", "5x7xf64"));
}

void addReductions(Samples &all) {
  struct Shapes {
    std::string x, axes, result;
  };
  for (const char *op : {"sum", "mean", "max", "min", "norm", "log_sum_exp"})
    for (auto &s : std::vector<Shapes>{{"3x4xf64", "1", "3x1xf64"},
                                       {"3x4xf64", "0", "1x4xf64"},
                                       {"3x4xf64", "0, 1", "1x1xf64"},
                                       {"2x3x4x2xf64", "0, 2", "1x3x1x2xf64"},
                                       {"2x3x4x2xf64", "1", "2x1x4x2xf64"},
                                       {"2x3x4x2xf64", "1, 3", "2x1x4x1xf64"},
                                       {"3x1xf64", "1", "3x1xf64"},
                                       {"2x70xf64", "1", "2x1xf64"}})
      all.push_back(sampleOf(op, "reduction", {{s.x, Domain::Spread}},
                             "{axes = " + array(s.axes) + "}", s.result));
}

void addContractions(Samples &all) {
  struct Shapes {
    std::string a, b, flags, result;
  };
  for (auto &s :
       std::vector<Shapes>{{"3x4xf64", "4x2xf64", "", "3x2xf64"},
                           {"4x3xf64", "4x2xf64", "{transA = true}", "3x2xf64"},
                           {"3x4xf64", "2x4xf64", "{transB = true}", "3x2xf64"},
                           {"4x3xf64", "2x4xf64", "{transA = true, transB = true}", "3x2xf64"},
                           {"5x3x4xf64", "4x2xf64", "", "5x3x2xf64"},
                           {"3x4xf64", "5x4x2xf64", "", "5x3x2xf64"},
                           {"5x3x4xf64", "5x4x2xf64", "", "5x3x2xf64"},
                           {"5x1x3x4xf64", "2x2x4xf64", "{transB = true}", "5x2x3x2xf64"},
                           {"1x4xf64", "4x1xf64", "", "1x1xf64"}})
    all.push_back(sampleOf("matmul", "contraction", {{s.a}, {s.b}}, s.flags, s.result));
}

void addMovement(Samples &all) {
  struct Case {
    std::string op, x, attribute, result;
  };
  for (auto &c : std::vector<Case>{
           {"reshape", "2x6xf64", "sizes = array<i64: 3, 4>", "3x4xf64"},
           {"reshape", "1xf64", "sizes = array<i64>", "f64"},
           {"transpose", "2x3xf64", "permutation = array<i64: 1, 0>", "3x2xf64"},
           {"transpose", "2x3x4xf64", "permutation = array<i64: 2, 0, 1>", "4x2x3xf64"},
           {"broadcast", "3x1xf64", "sizes = array<i64: 2, 3, 4>", "2x3x4xf64"}})
    all.push_back(sampleOf(c.op, "movement", {{c.x}}, "{" + c.attribute + "}", c.result));
  // A reshape that strides cannot express, between a transposition and a sum.
  all.push_back(
      {"reshape",
       "movement",
       {{"2x3xf64"}},
       typed("%t = train.transpose %0 {permutation = array<i64: 1, 0>}", {"2x3xf64"}, "3x2xf64") +
           typed("%y = train.reshape %t {sizes = array<i64: 6>}", {"3x2xf64"}, "6xf64"),
       "6xf64"});
}

/// Reductions of views whose reduced dimensions do not walk as one.
void addReducedViews(Samples &all) {
  all.push_back(
      {"sum",
       "reduction",
       {{"2x3x4xf64"}},
       typed("%t = train.transpose %0 {permutation = array<i64: 0, 2, 1>}", {"2x3x4xf64"},
             "2x4x3xf64") +
           typed("%y = train.sum %t {axes = array<i64: 1, 2>}", {"2x4x3xf64"}, "2x1x1xf64"),
       "2x1x1xf64"});
  all.push_back({"sum",
                 "reduction",
                 {{"5xf64"}},
                 typed("%t = train.broadcast %0 {sizes = array<i64: 4, 5>}", {"5xf64"}, "4x5xf64") +
                     typed("%y = train.sum %t {axes = array<i64: 0, 1>}", {"4x5xf64"}, "1x1xf64"),
                 "1x1xf64"});
  all.push_back({"max",
                 "reduction",
                 {{"3x4x5xf64", Domain::Spread}},
                 typed("%t = train.transpose %0 {permutation = array<i64: 2, 1, 0>}", {"3x4x5xf64"},
                       "5x4x3xf64") +
                     typed("%y = train.max %t {axes = array<i64: 0>}", {"5x4x3xf64"}, "1x4x3xf64"),
                 "1x4x3xf64"});
  // More rows than one chunk of a column reduction, and a stored value that is the same in all.
  std::string rows = "700x3xf64", sum = "1x3xf64", column = "700x1xf64";
  all.push_back({"sum",
                 "reduction",
                 {{rows}, {"3xf64"}},
                 typed("%b = train.broadcast %1 {sizes = array<i64: 700, 3>}", {"3xf64"}, rows) +
                     typed("%e = train.tanh %b", {rows}, rows) +
                     typed("%p = train.mul %e, %0", {rows, rows}, rows) +
                     typed("%s = train.sum %p {axes = array<i64: 0>}", {rows}, sum) +
                     typed("%m = train.matmul %e, %s {transB = true}", {rows, sum}, column) +
                     typed("%y = train.sum %m {axes = array<i64: 0>}", {column}, "1x1xf64"),
                 "1x1xf64"});
}

void addNorms(Samples &all) {
  struct Shapes {
    std::string x, axes, parameter;
  };
  for (auto &s : std::vector<Shapes>{{"3x5xf64", "1", "5xf64"},
                                     {"3x5xf64", "0", "1x5xf64"},
                                     {"2x3x4xf64", "1, 2", "3x4xf64"},
                                     {"2x3x4xf64", "1, 2", "f64"},
                                     {"2x3x4x2xf64", "2, 3", "3x1x1xf64"},
                                     {"2x2x3x4xf64", "2, 3", "2x3x1xf64"},
                                     {"2x3x4x2xf64", "0, 2, 3", "3x1x1xf64"},
                                     {"2x70xf64", "1", "2x1xf64"}}) {
    std::string attributes = "{axes = " + array(s.axes) + ", epsilon = 1.0e-3}";
    all.push_back(sampleOf("normalise", "normalisation", {{s.x}, {s.parameter}, {s.parameter}},
                           attributes, s.x));
    all.push_back(
        sampleOf("rms_normalise", "normalisation", {{s.x}, {s.parameter}}, attributes, s.x));
  }
  all.push_back(sampleOf(
      "batch_norm", "normalisation",
      {{"2x3x4xf64"}, {"3x1xf64"}, {"3x1xf64"}, {"3x1xf64"}, {"3x1xf64", Domain::Positive}},
      "{epsilon = 1.0e-3}", "2x3x4xf64"));
}

void addNormalisation(Samples &all) {
  struct Shapes {
    std::string x;
    int axis;
  };
  for (const char *op : {"softmax", "log_softmax"})
    for (auto &s :
         std::vector<Shapes>{{"3x4xf64", 1}, {"3x4xf64", 0}, {"2x3x4xf64", 1}, {"5xf64", 0}})
      all.push_back(sampleOf(op, "normalisation", {{s.x}},
                             "{axis = " + std::to_string(s.axis) + " : i64}", s.x));
  addNorms(all);
}

void addLosses(Samples &all) {
  all.push_back(sampleOf("mean_loss", "loss", {{"3x4xf64"}}, "", "f64"));
  all.push_back(sampleOf("output_loss", "loss", {{"1x1xf64"}}, "", "f64"));
  for (const char *reduction : {"0", "1"}) { // mean, sum
    std::string how = std::string("reduction = ") + reduction + " : i32";
    auto addCrossEntropy = [&](const Operand &x, const Operand &label, const std::string &extra) {
      all.push_back(sampleOf("cross_entropy", "loss", {x, label},
                             "{axis = 1 : i64, " + how + extra + "}", "f64"));
    };
    all.push_back(sampleOf("mse_loss", "loss", {{"3x4xf64"}, {"3x4xf64"}}, "{" + how + "}", "f64"));
    for (const char *extra : {"", ", labelSmoothing = 0.1 : f64", ", ignoreIndex = 2 : i64"})
      addCrossEntropy({"4x5xf64"}, {"4xi64", Domain::Ids}, extra);
    addCrossEntropy({"4x5xf64"}, {"4x5xf64", Domain::Fixed}, "");
    addCrossEntropy({"2x5x3xf64"}, {"2x3xi64", Domain::Ids}, "");
  }
}

/// The mask is that of bits that are given: it does not move with the finite difference.
void addRandom(Samples &all) {
  for (std::string ratio : {"0.5", "0.1"})
    for (std::string sizes : {"5x17x", "2x3x4x"})
      all.push_back(sampleOf("dropout", "random", {{sizes + "f64"}, {sizes + "i32", Domain::Bits}},
                             "{ratio = " + ratio + " : f64}", sizes + "f64"));
}
} // namespace

Sample sampleOf(const std::string &op, const std::string &family,
                const std::vector<Operand> &operands, const std::string &attributes,
                const std::string &result) {
  std::vector<std::string> values, types;
  for (const Operand &operand : operands) {
    values.push_back("%" + std::to_string(values.size()));
    types.push_back(operand.type);
  }
  std::string text = "%y = train." + op + " " + joined(values) + " " + attributes;
  return {op, family, operands, typed(text, types, result), result};
}

const std::vector<Sample> &samples() {
  static const Samples all = [] {
    Samples list;
    addElementwise(list);
    addActivations(list);
    addReductions(list);
    addReducedViews(list);
    addContractions(list);
    addMovement(list);
    addParts(list);
    addNormalisation(list);
    addLosses(list);
    addWindows(list);
    addRandom(list);
    return list;
  }();
  return all;
}

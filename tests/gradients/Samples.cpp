//===- Samples.cpp - A use of every differentiable op ---------------------===//
//
// An op without a sample fails the test. Elementwise ops get one sample for every way in which
// operands can be broadcast; the others state what is special about them.
//
//===----------------------------------------------------------------------===//

#include "Samples.h"

namespace {
using Samples = std::vector<Sample>;

std::string tensor(const std::string &type) { return "tensor<" + type + ">"; }

void addUnary(Samples &all, const std::string &op, Domain domain) {
  for (std::string type : {"2x3xf64", "f64", "1x1xf64", "5x17xf64"})
    all.push_back({op, "elementwise", {{type, domain}},
                   "%y = train." + op + " %0 : (" + tensor(type) + ") -> " + tensor(type), type});
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
    all.push_back({op, "elementwise", {{s.lhs, lhsDomain}, {s.rhs, rhsDomain}},
                   "%y = train." + op + " %0, %1 : (" + tensor(s.lhs) + ", " + tensor(s.rhs) +
                       ") -> " + tensor(s.result),
                   s.result});
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
  all.push_back({"mul", "elementwise", {{"3xf64"}},
                 "%y = train.mul %0, %0 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>",
                 "3xf64"});
  all.push_back({"select", "elementwise",
                 {{"2x3xi1", Domain::Flags}, {"2x3xf64"}, {"3xf64"}},
                 "%y = train.select %0, %1, %2 : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<3xf64>) "
                 "-> tensor<2x3xf64>",
                 "2x3xf64"});
  all.push_back({"cast", "elementwise", {{"2x3xf64"}},
                 "%t = train.cast %0 to f64 : (tensor<2x3xf64>) -> tensor<2x3xf64>\n"
                 "%y = train.mul %t, %0 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>",
                 "2x3xf64"});
}

void addActivations(Samples &all) {
  for (std::string op : {"elu", "hard_sigmoid", "hard_swish", "swish", "gelu", "gelu_tanh",
                         "softplus", "mish", "softsign"}) {
    std::string attributes = op == "elu" ? "{alpha = 1.5, scale = 0.75, inputScale = 1.25} "
                             : op == "hard_sigmoid" ? "{alpha = 0.5, beta = 0.3} "
                             : op == "swish"        ? "{alpha = 1.5} "
                                                    : "";
    // [-4, 4]: also what lies beyond the bounds of the pieces.
    for (std::string type : {"5x17xf64", "f64"})
      all.push_back({op, "activation", {{type}},
                     "%x = train.add %0, %0 : (" + tensor(type) + ", " + tensor(type) + ") -> " +
                         tensor(type) + "\n%y = train." + op + " %x " + attributes + ": (" +
                         tensor(type) + ") -> " + tensor(type),
                     type});
  }
  all.push_back({"leaky_relu", "activation", {{"4x3xf64"}, {"3xf64"}},
                 "%y = train.leaky_relu %0, %1 : (tensor<4x3xf64>, tensor<3xf64>) -> "
                 "tensor<4x3xf64>",
                 "4x3xf64"});
  // With bounds of either order.
  all.push_back({"clip", "activation", {{"5x7xf64"}, {"7xf64"}, {"5x1xf64"}},
                 "%y = train.clip %0, %1, %2 : (tensor<5x7xf64>, tensor<7xf64>, tensor<5x1xf64>) "
                 "-> tensor<5x7xf64>",
                 "5x7xf64"});
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
      all.push_back({op, "reduction", {{s.x, Domain::Spread}},
                     std::string("%y = train.") + op + " %0 {axes = array<i64: " + s.axes +
                         ">} : (" + tensor(s.x) + ") -> " + tensor(s.result),
                     s.result});
}

void addContractions(Samples &all) {
  struct Shapes {
    std::string a, b, flags, result;
  };
  for (auto &s : std::vector<Shapes>{
           {"3x4xf64", "4x2xf64", "", "3x2xf64"},
           {"4x3xf64", "4x2xf64", "{transA = true}", "3x2xf64"},
           {"3x4xf64", "2x4xf64", "{transB = true}", "3x2xf64"},
           {"4x3xf64", "2x4xf64", "{transA = true, transB = true}", "3x2xf64"},
           {"5x3x4xf64", "4x2xf64", "", "5x3x2xf64"},
           {"3x4xf64", "5x4x2xf64", "", "5x3x2xf64"},
           {"5x3x4xf64", "5x4x2xf64", "", "5x3x2xf64"},
           {"5x1x3x4xf64", "2x2x4xf64", "{transB = true}", "5x2x3x2xf64"},
           {"1x4xf64", "4x1xf64", "", "1x1xf64"}})
    all.push_back({"matmul", "contraction", {{s.a}, {s.b}},
                   "%y = train.matmul %0, %1 " + s.flags + " : (" + tensor(s.a) + ", " +
                       tensor(s.b) + ") -> " + tensor(s.result),
                   s.result});
}

void addConvolutions(Samples &all) {
  struct Shapes {
    std::string x, w, strides, dilations, pads, groups, result;
  };
  for (auto &s : std::vector<Shapes>{
           {"2x3x7xf64", "4x3x3xf64", "1", "1", "1, 1", "1", "2x4x7xf64"},
           {"2x2x5x6xf64", "3x2x3x2xf64", "1, 1", "1, 1", "0, 0, 0, 0", "1", "2x3x3x5xf64"},
           {"2x2x5x6xf64", "3x2x3x3xf64", "2, 2", "1, 1", "1, 1, 1, 1", "1", "2x3x3x3xf64"},
           {"1x2x7x6xf64", "2x2x3x2xf64", "1, 2", "2, 2", "1, 0, 2, 3", "1", "1x2x6x4xf64"},
           {"2x4x4x4xf64", "6x2x3x3xf64", "1, 1", "1, 1", "1, 1, 1, 1", "2", "2x6x4x4xf64"},
           {"2x3x4x4xf64", "3x1x3x3xf64", "1, 1", "1, 1", "1, 0, 1, 2", "3", "2x3x4x4xf64"},
           {"2x3x4x4xf64", "5x3x1x1xf64", "1, 1", "1, 1", "0, 0, 0, 0", "1", "2x5x4x4xf64"},
           {"2x3x5x5xf64", "2x3x1x1xf64", "2, 2", "1, 1", "0, 0, 0, 0", "1", "2x2x3x3xf64"},
           {"1x2x3x4x3xf64", "2x2x2x3x2xf64", "1, 2, 1", "1, 1, 2", "1, 1, 1, 0, 1, 1", "1",
            "1x2x3x2x3xf64"}})
    all.push_back({"conv", "convolution", {{s.x}, {s.w}},
                   "%y = train.conv %0, %1 {strides = array<i64: " + s.strides +
                       ">, dilations = array<i64: " + s.dilations + ">, pads = array<i64: " +
                       s.pads + ">, groups = " + s.groups + " : i64} : (" + tensor(s.x) + ", " +
                       tensor(s.w) + ") -> " + tensor(s.result),
                   s.result});
}

void addWindows(Samples &all) {
  struct Shapes {
    std::string x, kernel, strides, dilations, pads, countedPads, result;
  };
  for (auto &s : std::vector<Shapes>{
           {"2x3x7xf64", "3", "2", "1", "1, 1", "1, 1", "2x3x4xf64"},
           {"2x2x6x6xf64", "2, 2", "2, 2", "1, 1", "0, 0, 0, 0", "0, 0, 0, 0", "2x2x3x3xf64"},
           {"1x2x5x6xf64", "3, 2", "1, 1", "1, 1", "1, 0, 1, 1", "0, 0, 0, 0", "1x2x5x6xf64"},
           {"1x2x5x6xf64", "3, 3", "2, 2", "1, 1", "1, 1, 2, 2", "1, 1, 1, 1", "1x2x3x4xf64"},
           {"1x1x7x7xf64", "2, 3", "1, 2", "2, 2", "1, 2, 1, 1", "1, 2, 0, 0", "1x1x7x3xf64"},
           {"1x2x3x4x3xf64", "2, 2, 3", "1, 2, 1", "1, 1, 1", "1, 0, 1, 0, 0, 1",
            "1, 0, 1, 0, 0, 1", "1x2x3x2x3xf64"}}) {
    std::string window = "kernel = array<i64: " + s.kernel + ">, strides = array<i64: " +
                         s.strides + ">, dilations = array<i64: " + s.dilations +
                         ">, pads = array<i64: " + s.pads + ">";
    std::string types = " : (" + tensor(s.x) + ") -> " + tensor(s.result);
    all.push_back({"max_pool", "window", {{s.x, Domain::Spread}},
                   "%y = train.max_pool %0 {" + window + "}" + types, s.result});
    all.push_back({"average_pool", "window", {{s.x}},
                   "%y = train.average_pool %0 {" + window + ", countedPads = array<i64: " +
                       s.countedPads + ">}" + types,
                   s.result});
  }
}

void addMovement(Samples &all) {
  auto add = [&](const std::string &op, const std::string &x, const std::string &attribute,
                 const std::string &result) {
    all.push_back({op, "movement", {{x}},
                   "%y = train." + op + " %0 {" + attribute + "} : (" + tensor(x) + ") -> " +
                       tensor(result),
                   result});
  };
  add("reshape", "2x6xf64", "sizes = array<i64: 3, 4>", "3x4xf64");
  add("reshape", "1xf64", "sizes = array<i64>", "f64");
  add("transpose", "2x3xf64", "permutation = array<i64: 1, 0>", "3x2xf64");
  add("transpose", "2x3x4xf64", "permutation = array<i64: 2, 0, 1>", "4x2x3xf64");
  add("broadcast", "3x1xf64", "sizes = array<i64: 2, 3, 4>", "2x3x4xf64");
  // A reshape that strides cannot express, between a transposition and a sum.
  all.push_back({"reshape", "movement", {{"2x3xf64"}},
                 "%t = train.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x3xf64>) -> "
                 "tensor<3x2xf64>\n"
                 "%y = train.reshape %t {sizes = array<i64: 6>} : (tensor<3x2xf64>) -> "
                 "tensor<6xf64>",
                 "6xf64"});
}

/// Reductions of views whose reduced dimensions do not walk as one.
void addReducedViews(Samples &all) {
  all.push_back({"sum", "reduction", {{"2x3x4xf64"}},
                 "%t = train.transpose %0 {permutation = array<i64: 0, 2, 1>} : "
                 "(tensor<2x3x4xf64>) -> tensor<2x4x3xf64>\n"
                 "%y = train.sum %t {axes = array<i64: 1, 2>} : (tensor<2x4x3xf64>) -> "
                 "tensor<2x1x1xf64>",
                 "2x1x1xf64"});
  all.push_back({"sum", "reduction", {{"5xf64"}},
                 "%t = train.broadcast %0 {sizes = array<i64: 4, 5>} : (tensor<5xf64>) -> "
                 "tensor<4x5xf64>\n"
                 "%y = train.sum %t {axes = array<i64: 0, 1>} : (tensor<4x5xf64>) -> "
                 "tensor<1x1xf64>",
                 "1x1xf64"});
  all.push_back({"max", "reduction", {{"3x4x5xf64", Domain::Spread}},
                 "%t = train.transpose %0 {permutation = array<i64: 2, 1, 0>} : "
                 "(tensor<3x4x5xf64>) -> tensor<5x4x3xf64>\n"
                 "%y = train.max %t {axes = array<i64: 0>} : (tensor<5x4x3xf64>) -> "
                 "tensor<1x4x3xf64>",
                 "1x4x3xf64"});
  // More rows than one chunk of a column reduction, and a stored value that is the same in all.
  all.push_back({"sum", "reduction", {{"700x3xf64"}, {"3xf64"}},
                 "%b = train.broadcast %1 {sizes = array<i64: 700, 3>} : (tensor<3xf64>) -> "
                 "tensor<700x3xf64>\n"
                 "%e = train.tanh %b : (tensor<700x3xf64>) -> tensor<700x3xf64>\n"
                 "%p = train.mul %e, %0 : (tensor<700x3xf64>, tensor<700x3xf64>) -> "
                 "tensor<700x3xf64>\n"
                 "%s = train.sum %p {axes = array<i64: 0>} : (tensor<700x3xf64>) -> "
                 "tensor<1x3xf64>\n"
                 "%m = train.matmul %e, %s {transB = true} : (tensor<700x3xf64>, tensor<1x3xf64>) "
                 "-> tensor<700x1xf64>\n"
                 "%y = train.sum %m {axes = array<i64: 0>} : (tensor<700x1xf64>) -> "
                 "tensor<1x1xf64>",
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
    std::string attributes = " {axes = array<i64: " + s.axes + ">, epsilon = 1.0e-3} : (" +
                             tensor(s.x) + ", " + tensor(s.parameter);
    all.push_back({"normalise", "normalisation", {{s.x}, {s.parameter}, {s.parameter}},
                   "%y = train.normalise %0, %1, %2" + attributes + ", " + tensor(s.parameter) +
                       ") -> " + tensor(s.x),
                   s.x});
    all.push_back({"rms_normalise", "normalisation", {{s.x}, {s.parameter}},
                   "%y = train.rms_normalise %0, %1" + attributes + ") -> " + tensor(s.x), s.x});
  }
  std::string parameter = tensor("3x1xf64");
  all.push_back({"batch_norm", "normalisation",
                 {{"2x3x4xf64"}, {"3x1xf64"}, {"3x1xf64"}, {"3x1xf64"}, {"3x1xf64", Domain::Positive}},
                 "%y = train.batch_norm %0, %1, %2, %3, %4 {epsilon = 1.0e-3} : "
                 "(tensor<2x3x4xf64>, " + parameter + ", " + parameter + ", " + parameter + ", " +
                     parameter + ") -> tensor<2x3x4xf64>",
                 "2x3x4xf64"});
}

void addNormalisation(Samples &all) {
  struct Shapes {
    std::string x;
    int axis;
  };
  for (const char *op : {"softmax", "log_softmax"})
    for (auto &s : std::vector<Shapes>{{"3x4xf64", 1}, {"3x4xf64", 0}, {"2x3x4xf64", 1}, {"5xf64", 0}})
      all.push_back({op, "normalisation", {{s.x}},
                     std::string("%y = train.") + op + " %0 {axis = " + std::to_string(s.axis) +
                         " : i64} : (" + tensor(s.x) + ") -> " + tensor(s.x),
                     s.x});
  addNorms(all);
}

void addLosses(Samples &all) {
  all.push_back({"mean_loss", "loss", {{"3x4xf64"}},
                 "%y = train.mean_loss %0 : (tensor<3x4xf64>) -> tensor<f64>", "f64"});
  all.push_back({"output_loss", "loss", {{"1x1xf64"}},
                 "%y = train.output_loss %0 : (tensor<1x1xf64>) -> tensor<f64>", "f64"});
  for (const char *reduction : {"0", "1"}) { // mean, sum
    std::string how = std::string("reduction = ") + reduction + " : i32";
    all.push_back({"mse_loss", "loss", {{"3x4xf64"}, {"3x4xf64"}},
                   "%y = train.mse_loss %0, %1 {" + how +
                       "} : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<f64>",
                   "f64"});
    for (const char *extra : {"", ", labelSmoothing = 0.1 : f64", ", ignoreIndex = 2 : i64"})
      all.push_back({"cross_entropy", "loss", {{"4x5xf64"}, {"4xi64", Domain::Ids}},
                     "%y = train.cross_entropy %0, %1 {axis = 1 : i64, " + how + extra +
                         "} : (tensor<4x5xf64>, tensor<4xi64>) -> tensor<f64>",
                     "f64"});
    all.push_back({"cross_entropy", "loss", {{"4x5xf64"}, {"4x5xf64", Domain::Fixed}},
                   "%y = train.cross_entropy %0, %1 {axis = 1 : i64, " + how +
                       "} : (tensor<4x5xf64>, tensor<4x5xf64>) -> tensor<f64>",
                   "f64"});
    all.push_back({"cross_entropy", "loss", {{"2x5x3xf64"}, {"2x3xi64", Domain::Ids}},
                   "%y = train.cross_entropy %0, %1 {axis = 1 : i64, " + how +
                       "} : (tensor<2x5x3xf64>, tensor<2x3xi64>) -> tensor<f64>",
                   "f64"});
  }
}

/// The mask is that of bits that are given: it does not move with the finite difference.
void addRandom(Samples &all) {
  for (const char *ratio : {"0.5", "0.1"})
    for (const char *sizes : {"5x17x", "2x3x4x"}) {
      std::string x = std::string(sizes) + "f64", bits = std::string(sizes) + "i32";
      all.push_back({"dropout",
                     "random",
                     {{x}, {bits, Domain::Bits}},
                     std::string("%y = train.dropout %0, %1 {ratio = ") + ratio + " : f64} : (" +
                         tensor(x) + ", " + tensor(bits) + ") -> " + tensor(x),
                     x});
    }
}
} // namespace

const std::vector<Sample> &samples() {
  static const Samples all = [] {
    Samples list;
    addElementwise(list);
    addActivations(list);
    addReductions(list);
    addReducedViews(list);
    addContractions(list);
    addConvolutions(list);
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

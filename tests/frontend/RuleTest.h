//===- RuleTest.h - One node in every form that ONNX gave it --------------===//
//
// Tests of import rules: a node on inputs of given shapes, imported.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_FRONTEND_RULETEST_H
#define HALFSTEP_TESTS_FRONTEND_RULETEST_H

#include "ModelBuilder.h"

namespace halfstep::test {

/// One node of `op` on inputs x0, x1... of the given shapes, of type `type`.
inline std::string importNode(int64_t opset, const std::string &op, const std::vector<Ints> &shapes,
                              const std::vector<Attribute> &attributes = {}, int type = f32,
                              int resultType = f32) {
  Model model(opset);
  Names inputs;
  for (const Ints &shape : shapes) {
    inputs.push_back("x" + std::to_string(inputs.size()));
    model.input(inputs.back(), std::vector<Dim>(shape.begin(), shape.end()), type);
  }
  model.node(op, inputs, {"y"}, attributes).output("y", resultType);
  return import(model);
}

/// One node of `op` on an input x and initializers w1, w2... that `add` makes; an empty operand is
/// an absent one.
inline std::string importWith(Model &(Model::*add)(const std::string &, const Ints &),
                              int64_t opset, const std::string &op, const Ints &x,
                              const std::vector<Ints> &operands,
                              const std::vector<Attribute> &attributes, const Names &outputs) {
  Model model(opset);
  model.input("x", std::vector<Dim>(x.begin(), x.end()));
  Names inputs{"x"};
  for (const Ints &operand : operands) {
    inputs.push_back(operand.empty() ? "" : "w" + std::to_string(inputs.size()));
    if (!operand.empty())
      (model.*add)(inputs.back(), operand);
  }
  model.node(op, inputs, outputs, attributes);
  for (const std::string &output : outputs)
    if (!output.empty())
      model.output(output);
  return import(model);
}

/// The operands are the values of int64 vectors.
inline std::string importWithInts(int64_t opset, const std::string &op, const Ints &x,
                                  const std::vector<Ints> &operands,
                                  const std::vector<Attribute> &attributes = {},
                                  const Names &outputs = {"y"}) {
  return importWith(&Model::ints, opset, op, x, operands, attributes, outputs);
}

/// The operands are the shapes of weights.
inline std::string importWithWeights(int64_t opset, const std::string &op, const Ints &x,
                                     const std::vector<Ints> &weights,
                                     const std::vector<Attribute> &attributes = {},
                                     const Names &outputs = {"y"}) {
  return importWith(&Model::weight, opset, op, x, weights, attributes, outputs);
}

} // namespace halfstep::test

#endif // HALFSTEP_TESTS_FRONTEND_RULETEST_H

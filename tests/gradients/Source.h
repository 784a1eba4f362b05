//===- Source.h - Functions in the train dialect, as text -----------------===//
//
// Types are written without the word tensor: "3x4xf64".
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_SOURCE_H
#define HALFSTEP_TESTS_GRADIENTS_SOURCE_H

#include <string>
#include <vector>

inline std::string tensor(const std::string &type) { return "tensor<" + type + ">"; }

inline std::string array(const std::string &numbers) {
  return "array<i64" + (numbers.empty() ? "" : ": " + numbers) + ">";
}

inline std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// A line: `op` with the types of its operands and its result.
inline std::string typed(const std::string &op, const std::vector<std::string> &operands,
                         const std::string &result) {
  std::vector<std::string> types;
  for (const std::string &operand : operands)
    types.push_back(tensor(operand));
  return op + " : (" + joined(types) + ") -> " + tensor(result) + "\n";
}

// Arguments of `forward`.
inline std::string input(const std::string &name, const std::string &type) {
  return "%" + name + ": " + tensor(type) + " {train.input = \"" + name + "\"}";
}
inline std::string parameter(const std::string &name, const std::string &type,
                             bool isTrainable = true) {
  return "%" + name + ": " + tensor(type) + " {train.parameter = \"" + name + "\"" +
         (isTrainable ? ", train.trainable}" : "}");
}

/// `@forward`, whose output y is `value` of the body.
inline std::string forward(const std::vector<std::string> &arguments, const std::string &body,
                           const std::string &type, const std::string &value = "%y") {
  return "func.func @forward(" + joined(arguments) + ") -> (" + tensor(type) +
         " {train.output = \"y\"}) {\n" + body + "return " + value + " : " + tensor(type) + "\n}\n";
}

#endif

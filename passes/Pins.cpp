//===- Pins.cpp - Types that the user gives to ops ------------------------===//

#include "passes/Pins.h"
#include "ir/Describe.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace halfstep;

FailureOr<Pins> Pins::parse(ArrayRef<std::string> texts, MLIRContext *context,
                            llvm::function_ref<InFlightDiagnostic(const Twine &)> emitError) {
  Pins result;
  for (const std::string &text : texts) {
    auto [pattern, name] = StringRef(text).rsplit('=');
    Type type = llvm::StringSwitch<Type>(name)
                    .Case("fp32", Float32Type::get(context))
                    .Case("fp16", Float16Type::get(context))
                    .Case("bf16", BFloat16Type::get(context))
                    .Default(Type());
    if (!type || pattern.empty()) {
      auto diagnostic =
          emitError("--pin " + text + ": " +
                    (type ? "there is no pattern" : "the type must be fp32, fp16 or bf16"));
      diagnostic.attachNote() << "help: a pin is REGEX=TYPE, as in --pin 'head/.*=fp32'";
      return diagnostic;
    }
    try {
      result.pins.push_back({text, std::regex(pattern.str(), std::regex::ECMAScript), type});
    } catch (const std::regex_error &problem) {
      auto diagnostic = emitError("--pin " + text + ": not a regular expression");
      diagnostic.attachNote() << problem.what();
      return diagnostic;
    }
  }
  return result;
}

Type Pins::typeOf(Operation *op) {
  if (pins.empty())
    return {};
  std::string names = (nodeName(op->getLoc()) + "\n" + op->getName().stripDialect()).str();
  for (Pin &pin : pins)
    if (std::regex_search(names, pin.pattern)) {
      pin.isUsed = true;
      return pin.type;
    }
  return {};
}

SmallVector<std::string> Pins::unused() const {
  SmallVector<std::string> texts;
  for (const Pin &pin : pins)
    if (!pin.isUsed)
      texts.push_back(pin.text);
  return texts;
}

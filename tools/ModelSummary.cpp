//===- ModelSummary.cpp - What a model holds, and how to compile it -------===//

#include "tools/ModelSummary.h"

#include "ir/Describe.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/ParameterClass.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace attr = halfstep::train::attr;

namespace halfstep {

ModelSummary::ModelSummary(ModuleOp module, std::vector<DimensionBinding> dimensions,
                           const CompileOptions &options, Pins &pins)
    : dimensions(std::move(dimensions)) {
  llvm::DenseSet<StringAttr> low = findLowParameters(module, pins);
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  for (auto [i, type] : llvm::enumerate(forward.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (auto name = forward.getArgAttrOfType<StringAttr>(i, attr::kInput))
      inputs.push_back({name.str(), tensor, false});
    else if (auto name = forward.getArgAttrOfType<StringAttr>(i, attr::kParameter))
      parameters.push_back(
          {name.str(), tensor, !!forward.getArgAttr(i, attr::kTrainable), low.contains(name)});
  }
  for (auto [i, type] : llvm::enumerate(forward.getResultTypes()))
    outputs.push_back({forward.getResultAttrOfType<StringAttr>(i, attr::kOutput).str(),
                       cast<RankedTensorType>(type), false});
  if (auto micro = module.lookupSymbol<func::FuncOp>("micro"))
    micro.walk([&](train::EvaluationOpInterface op) {
      trainingOnly.push_back({nodeNames(op.getLoc()), op->getName().stripDialect().str()});
    });
  command = compileLine(options);
}

/// A word of a shell's command line.
static std::string shellWord(llvm::StringRef word) {
  auto isPlain = [](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("-_./:=,+@").contains(c);
  };
  if (!word.empty() && llvm::all_of(word, isPlain))
    return word.str();
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

/// Where the options leave something open, a choice that works is made: the loss that any output
/// has, the optimizer that needs no tuning.
std::string ModelSummary::compileLine(const CompileOptions &options) const {
  const Recipe &recipe = options.recipe;
  std::string line = "halfstep compile " + shellWord(options.model);
  auto add = [&](llvm::StringRef option, llvm::StringRef value) {
    line += (" " + option + " " + shellWord(value)).str();
  };
  bool hasBatch = recipe.batch != 0;
  if (hasBatch)
    add("--batch", std::to_string(recipe.batch));
  for (const DimensionBinding &dimension : dimensions) {
    bool isBound = recipe.bind.count(dimension.name);
    if (dimension.isLeading && !isBound && std::exchange(hasBatch, true) == false)
      add("--batch", "32");
    else if (!dimension.isLeading || isBound)
      add("--bind", dimension.name + "=" + std::to_string(dimension.size));
  }
  bool isScalar = !outputs.empty() && outputs.front().type.getRank() == 0;
  add("--loss", !recipe.loss.empty() ? recipe.loss : isScalar ? "output" : "mse");
  add("--optimizer", !recipe.optimizer.empty() ? recipe.optimizer : "adam:lr=1e-3");
  for (const std::string &pattern : recipe.train)
    add("--train", pattern);
  for (const std::string &pattern : recipe.freeze)
    add("--freeze", pattern);
  if (recipe.precision != "fp32")
    add("--precision", recipe.precision);
  add("-o", llvm::sys::path::stem(options.model));
  return line;
}

/// The options that give the dimension a size.
static std::string flagsFor(const DimensionBinding &dimension) {
  std::string bind = "--bind " + shellWord(dimension.name + "=N");
  if (!dimension.isLeading)
    return bind;
  return dimension.name.empty() ? "--batch N" : "--batch N or " + bind;
}

void ModelSummary::printText(llvm::raw_ostream &os) const {
  size_t width = 0;
  for (const auto *list : {&inputs, &outputs, &parameters})
    for (const Tensor &tensor : *list)
      width = std::max(width, tensor.name.size());
  auto print = [&](const Tensor &tensor, llvm::StringRef remark) {
    os << "  " << llvm::left_justify(tensor.name, width) << "  " << typeText(tensor.type) << remark
       << '\n';
  };

  os << "inputs\n";
  for (const Tensor &input : inputs)
    print(input, "");
  os << "outputs\n";
  for (const Tensor &output : outputs)
    print(output, "");
  if (!dimensions.empty())
    os << "dimensions\n";
  for (const DimensionBinding &dimension : dimensions) {
    os << "  " << (dimension.name.empty() ? "(unnamed)" : dimension.name) << "  " << dimension.size;
    if (dimension.isAssumed)
      os << ", assumed; to bind by " << flagsFor(dimension);
    os << '\n';
  }
  int64_t elements = 0, trained = 0;
  for (const Tensor &parameter : parameters) {
    elements += parameter.type.getNumElements();
    trained += parameter.isTrained ? parameter.type.getNumElements() : 0;
  }
  os << "parameters: " << elements << " elements, " << trained << " of them trained\n";
  for (const Tensor &parameter : parameters)
    print(parameter, (llvm::Twine(parameter.isTrained ? "  trained" : "  fixed") +
                      (parameter.isLow ? ", low" : ", full"))
                         .str());
  if (!trainingOnly.empty())
    os << "in training only\n";
  for (const auto &[node, op] : trainingOnly)
    os << "  " << node << "  " << op << '\n';
  os << "compile it with\n  " << command << '\n';
}

void ModelSummary::printJson(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto tensorFields = [&](const Tensor &tensor) {
    json.attribute("name", llvm::json::fixUTF8(tensor.name));
    json.attribute("type", typeText(RankedTensorType::get({}, tensor.type.getElementType())));
    json.attributeArray("shape", [&] {
      for (int64_t size : tensor.type.getShape())
        json.value(size);
    });
  };
  auto list = [&](llvm::StringRef key, const std::vector<Tensor> &tensors) {
    json.attributeArray(key, [&] {
      for (const Tensor &tensor : tensors)
        json.object([&] { tensorFields(tensor); });
    });
  };
  json.object([&] {
    json.attribute("version", 1);
    list("inputs", inputs);
    list("outputs", outputs);
    json.attributeArray("dimensions", [&] {
      for (const DimensionBinding &dimension : dimensions)
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(dimension.name));
          json.attribute("size", dimension.size);
          json.attribute("leading", dimension.isLeading);
          json.attribute("assumed", dimension.isAssumed);
        });
    });
    json.attributeArray("parameters", [&] {
      for (const Tensor &parameter : parameters)
        json.object([&] {
          tensorFields(parameter);
          json.attribute("trained", parameter.isTrained);
          json.attribute("class", parameter.isLow ? "low" : "full");
        });
    });
    json.attributeArray("training_only", [&] {
      for (const auto &[node, op] : trainingOnly)
        json.object([&] {
          json.attribute("node", llvm::json::fixUTF8(node));
          json.attribute("op", op);
        });
    });
    json.attribute("compile", llvm::json::fixUTF8(command));
  });
  os << '\n';
}

} // namespace halfstep

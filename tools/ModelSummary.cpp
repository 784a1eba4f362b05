//===- ModelSummary.cpp - What a model holds, and how to compile it -------===//

#include "tools/ModelSummary.h"

#include "ir/Describe.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/ParameterClass.h"
#include "llvm/ADT/StringSet.h"
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
    if (auto name = forward.getArgAttrOfType<StringAttr>(i, attr::kInput)) {
      inputs.push_back(describe(name, tensor));
    } else if (auto name = forward.getArgAttrOfType<StringAttr>(i, attr::kParameter)) {
      Tensor &parameter = parameters.emplace_back(describe(name, tensor));
      parameter.isTrained = !!forward.getArgAttr(i, attr::kTrainable);
      parameter.isLow = low.contains(name);
      parameter.remark = std::string(parameter.isTrained ? "trained" : "fixed") +
                         (parameter.isLow ? ", low" : ", full");
    }
  }
  for (auto [i, type] : llvm::enumerate(forward.getResultTypes()))
    outputs.push_back(describe(forward.getResultAttrOfType<StringAttr>(i, attr::kOutput),
                               cast<RankedTensorType>(type)));
  if (auto micro = module.lookupSymbol<func::FuncOp>("micro"))
    micro.walk([&](train::EvaluationOpInterface op) {
      trainingOnly.push_back({nodeNames(op.getLoc()), op->getName().stripDialect().str()});
    });
  command = compileLine(options);
}

ModelSummary::ModelSummary(const FileSummary &file, std::vector<BlockingNode> blocking)
    : blocking(std::move(blocking)) {
  for (auto [from, to] :
       {std::pair(&file.inputs, &inputs), {&file.outputs, &outputs}, {&file.weights, &parameters}})
    for (const FileTensor &tensor : *from)
      to->push_back({tensor});
}

ModelSummary::Tensor ModelSummary::describe(llvm::StringRef name, RankedTensorType type) {
  Tensor tensor{{name.str(), typeText(type.clone(ArrayRef<int64_t>())), {}}};
  for (int64_t size : type.getShape())
    tensor.sizes.push_back(std::to_string(size));
  return tensor;
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
  bool isScalar = !outputs.empty() && outputs.front().sizes.empty();
  add("--loss", !recipe.loss.empty() ? recipe.loss : isScalar ? "output" : "mse");
  add("--optimizer", !recipe.optimizer.empty() ? recipe.optimizer : "adam:lr=1e-3");
  // All other options that were given, but for those that decide nothing of what is compiled.
  for (const auto &[option, values] : options.given) {
    static const llvm::StringSet<> isNotForTheLine = {
        "--batch",  "--bind",        "--loss",   "--optimizer", // said above
        "--config", "--dump-phases", "--format", "--threads"};
    if (isNotForTheLine.contains(option))
      continue;
    if (values.empty())
      line += " " + option;
    for (const std::string &value : values)
      add(option, value);
  }
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

/// Empty where sizes are not known.
std::string ModelSummary::parameterCount() const {
  int64_t elements = 0, trained = 0;
  for (const Tensor &parameter : parameters) {
    int64_t count = 1;
    for (const std::string &size : parameter.sizes)
      count *= std::stoll(size); // a weight's are numbers
    elements += count;
    trained += parameter.isTrained ? count : 0;
  }
  std::string text = std::to_string(elements) + " elements";
  return blocking.empty() ? text + ", " + std::to_string(trained) + " of them trained" : text;
}

void ModelSummary::printText(llvm::raw_ostream &os) const {
  size_t width = 0;
  for (const auto *list : {&inputs, &outputs, &parameters})
    for (const Tensor &tensor : *list)
      width = std::max(width, tensor.name.size());
  auto print = [&](const std::vector<Tensor> &tensors) {
    for (const Tensor &tensor : tensors) {
      os << "  " << llvm::left_justify(tensor.name, width) << "  ";
      for (const std::string &size : tensor.sizes)
        os << size << 'x';
      os << tensor.element << (tensor.remark.empty() ? "" : "  ") << tensor.remark << '\n';
    }
  };

  os << "inputs\n";
  print(inputs);
  os << "outputs\n";
  print(outputs);
  if (!dimensions.empty())
    os << "dimensions\n";
  for (const DimensionBinding &dimension : dimensions) {
    os << "  " << (dimension.name.empty() ? "(unnamed)" : dimension.name) << "  " << dimension.size;
    if (dimension.isAssumed)
      os << ", assumed; to bind by " << flagsFor(dimension);
    os << '\n';
  }
  os << "parameters: " << parameterCount() << '\n';
  print(parameters);
  if (!trainingOnly.empty())
    os << "in training only\n";
  for (const auto &[node, op] : trainingOnly)
    os << "  " << node << "  " << op << '\n';
  if (!lost.empty())
    os << "lost in the export\n";
  for (const ExportLoss &loss : lost)
    os << "  " << (loss.subject.empty() ? "" : loss.subject + ": ") << loss.what << '\n';
  if (!blocking.empty())
    os << "blocked by\n";
  for (const BlockingNode &each : blocking)
    os << "  " << each.node << ": " << each.reason << '\n';
  if (!command.empty())
    os << "compile it with\n  " << command << '\n';
}

void ModelSummary::printJson(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto text = [&](llvm::StringRef key, const std::string &value) {
    json.attribute(key, llvm::json::fixUTF8(value));
  };
  auto tensorFields = [&](const Tensor &tensor) {
    text("name", tensor.name);
    json.attribute("type", tensor.element);
    json.attributeArray("shape", [&] {
      for (const std::string &size : tensor.sizes)
        if (int64_t number; llvm::StringRef(size).getAsInteger(10, number))
          json.value(llvm::json::fixUTF8(size));
        else
          json.value(number);
    });
  };
  auto list = [&](llvm::StringRef key, const auto &items, auto writeFields) {
    json.attributeArray(key, [&] {
      for (const auto &item : items)
        json.object([&] { writeFields(item); });
    });
  };
  json.object([&] {
    json.attribute("version", 1);
    list("inputs", inputs, tensorFields);
    list("outputs", outputs, tensorFields);
    list("dimensions", dimensions, [&](const DimensionBinding &dimension) {
      text("name", dimension.name);
      json.attribute("size", dimension.size);
      json.attribute("leading", dimension.isLeading);
      json.attribute("assumed", dimension.isAssumed);
    });
    list("parameters", parameters, [&](const Tensor &parameter) {
      tensorFields(parameter);
      if (!blocking.empty())
        return;
      json.attribute("trained", parameter.isTrained);
      json.attribute("class", parameter.isLow ? "low" : "full");
    });
    list("training_only", trainingOnly, [&](const auto &each) {
      text("node", each.first);
      json.attribute("op", each.second);
    });
    list("lost", lost, [&](const ExportLoss &loss) {
      text("subject", loss.subject);
      text("what", loss.what);
    });
    list("blocking", blocking, [&](const BlockingNode &each) {
      text("node", each.node);
      text("reason", each.reason);
    });
    if (!command.empty())
      text("compile", command);
  });
  os << '\n';
}

} // namespace halfstep

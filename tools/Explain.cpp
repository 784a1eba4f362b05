//===- Explain.cpp - Why a node computes in its types, and where it ends --===//

#include "tools/Explain.h"

#include "ir/Describe.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/TargetAbility.h"
#include "runtime/Suggestion.h"
#include "tools/MemorySummary.h"
#include "tools/ModuleGraph.h"
#include "tools/PrecisionReport.h"
#include "tools/TextTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using halfstep::train::Precision;

namespace halfstep {

/// The program that says most: the training step, or, where nothing is trained, the forward pass.
static func::FuncOp programOf(ModuleOp module) {
  auto micro = module.lookupSymbol<func::FuncOp>("micro");
  return micro ? micro : module.lookupSymbol<func::FuncOp>("forward");
}

static void addOnce(std::vector<std::string> &texts, const std::string &text) {
  if (!llvm::is_contained(texts, text))
    texts.push_back(text);
}

/// The names of all ONNX nodes, and of the parts that a compilation adds, in order.
static std::vector<std::string> nodesOf(ModuleOp module) {
  std::vector<std::string> names;
  for (Operation &op : programOf(module).front())
    for (const std::string &name : nodeNameList(op.getLoc()))
      addOnce(names, name);
  return names;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::string textOf(Type type) { return typeText(cast<RankedTensorType>(type)); }

static std::string elementText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(type);
  return text;
}

static llvm::StringRef describe(Precision category) {
  switch (category) {
  case Precision::Low:
    return "low: 16 bits where the mode has them";
  case Precision::Full:
    return "full: f32 in every mode";
  case Precision::Widest:
    return "widest: the widest type among the operands";
  case Precision::Mixed:
    return "mixed: f32 inside, the result in the type of the first operand";
  case Precision::Unrounded:
    return "unrounded: f32 in every mode, results too, whatever is pinned";
  }
  llvm_unreachable("category");
}

/// "input x": what an argument or result of a program is called; the label is "label".
static std::string nameIn(DictionaryAttr attributes) {
  std::vector<NamedTensor> names = namesIn(attributes);
  if (names.empty())
    return "argument";
  const auto &[role, name] = names.front();
  return role == name ? role : role + " " + name;
}

/// "16x10xf32 of /fc1/Gemm (matmul)", "16x10xf32 of input x"; a cast between is said.
static std::string source(Value value) {
  std::string castText;
  Value origin = value;
  while (auto op = origin.getDefiningOp<train::CastOp>())
    origin = op->getOperand(0);
  if (origin != value)
    castText = ", cast from " + elementText(origin.getType());
  std::string text = textOf(value.getType()) + castText;
  if (auto argument = dyn_cast<BlockArgument>(origin)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return text + " of " + nameIn(function.getArgAttrDict(argument.getArgNumber()));
  }
  Operation *op = origin.getDefiningOp();
  std::string node = nodeNames(op->getLoc());
  return text + " of " + (node.empty() ? "" : node + " ") + "(" +
         op->getName().stripDialect().str() + ")";
}

/// What reads a value, through casts.
static void addReaders(Value value, std::vector<std::string> &readers) {
  for (OpOperand &use : value.getUses()) {
    Operation *reader = use.getOwner();
    if (isa<train::CastOp>(reader)) {
      addReaders(reader->getResult(0), readers);
      continue;
    }
    std::string type = textOf(use.get().getType()), node = nodeNames(reader->getLoc());
    if (isa<func::ReturnOp>(reader))
      addOnce(readers, type + ", the program's " +
                           nameIn(reader->getParentOfType<func::FuncOp>().getResultAttrDict(
                               use.getOperandNumber())));
    else
      addOnce(readers, type + " by " + (node.empty() ? "" : node + " ") + "(" +
                           reader->getName().stripDialect().str() + ")");
  }
}

static void explain(Operation &op, const TargetAbility &ability, llvm::raw_ostream &os) {
  auto line = [&](llvm::StringRef key, const llvm::Twine &text) {
    os << "  " << llvm::left_justify(key, 10) << text << '\n';
  };
  auto reason = op.getAttrOfType<StringAttr>(train::attr::kReason);
  llvm::StringRef why = reason ? reason.getValue() : "policy";
  os << (train::isGradient(op.getLoc()) ? "gradient, " : "forward, ") << op.getName().stripDialect()
     << '\n';
  bool hasCategory = isa<train::PrecisionOpInterface>(op);
  if (hasCategory)
    line("category", describe(train::categoryOf(&op)));
  // What a target takes back is rounded to the wish behind the op.
  Type computed = op.getResultTypes().front(), wished = computed;
  if (why == "target")
    wished = op.getResult(0).user_begin()->getResultTypes().front();
  line("wish",
       elementText(wished) + (why == "target" ? "" : ", " + why.str() + ": " + meaningOf(why)));
  if (hasCategory && train::categoryOf(&op) == Precision::Low)
    line("target", ability.target +
                       (ability.multiplies(getElementTypeOrSelf(wished))
                            ? " multiplies " + elementText(wished)
                            : " has no products of " + elementText(wished) + ": it works in f32"));
  line("pin", why == "pinned" ? "--pin asks for it" : "none");
  for (Value operand : op.getOperands())
    line("operand", source(operand));
  for (Value result : op.getResults()) {
    line("result", textOf(result.getType()) + ", " +
                       sizeText(table::storageBytes(cast<RankedTensorType>(result.getType()))));
    std::vector<std::string> readers;
    addReaders(result, readers);
    for (const std::string &reader : readers)
      line("read", "as " + reader);
  }
}

static bool isOf(Operation &op, llvm::StringRef node) {
  return llvm::is_contained(nodeNameList(op.getLoc()), node);
}

static void explainTypes(ModuleOp module, llvm::StringRef node, llvm::StringRef target,
                         llvm::raw_ostream &os) {
  os << node << "\n\n";
  for (Operation &op : programOf(module).front().without_terminator())
    if (isOf(op, node) && !isa<train::CastOp>(op) && !op.hasTrait<OpTrait::ConstantLike>()) {
      explain(op, *TargetAbility::of(target), os);
      os << '\n';
    }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void explainKernels(ModuleOp module, llvm::StringRef node, llvm::raw_ostream &os) {
  os << "entries of the step\n";
  std::vector<TextRow> rows;
  for (const char *name : {"micro", "update"}) {
    auto program = module.lookupSymbol<func::FuncOp>(name);
    unsigned number = 0;
    for (Operation &op : program.front().without_terminator()) {
      if (isa<table::AliasOp>(op))
        continue;
      if (isOf(op, node)) {
        auto launch = dyn_cast<table::LaunchOp>(op);
        std::vector<std::string> others = nodeNameList(op.getLoc());
        llvm::erase(others, node);
        rows.push_back({"", name + ("/" + std::to_string(number)),
                        launch ? launch.getKernel().str() : op.getName().stripDialect().str(),
                        others.empty() ? "" : "with " + llvm::join(others, ", ")});
      }
      ++number;
    }
  }
  printTable(rows, os);
}

/// There may be thousands of them, so that they are not listed.
static runtime::Error unknownNode(const std::string &node, const std::vector<std::string> &nodes) {
  const std::string *meant = runtime::closest(node, nodes);
  return runtime::Error("--explain", "no node is called '" + node + "'")
      .help(meant ? "did you mean " + *meant + "?" : "--phase precision lists all nodes")
      .exitWith(2);
}

int explainNode(CompileOptions options, const std::string &node) {
  if (options.recipe.loss.empty())
    options.recipe.loss = "mean";
  if (options.recipe.optimizer.empty())
    options.recipe.optimizer = "sgd";
  Compilation compilation(options, /*quiet=*/false);
  if (failed(advanceToPrecision(compilation)))
    return compilation.exitCode();
  std::vector<std::string> nodes = nodesOf(compilation.module());
  if (!llvm::is_contained(nodes, node))
    throw unknownNode(node, nodes);
  explainTypes(compilation.module(), node, compilation.recipe().executor(), llvm::outs());
  if (failed(compilation.advance(Phase::Kernels)))
    return compilation.exitCode();
  explainKernels(compilation.module(), node, llvm::outs());
  return 0;
}

} // namespace halfstep

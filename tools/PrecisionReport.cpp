//===- PrecisionReport.cpp - Which node computes in which type, and why ---===//

#include "tools/PrecisionReport.h"

#include "ir/Describe.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/Error.h"
#include "tools/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace halfstep {

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static std::vector<std::string> textsOf(TypeRange types) {
  std::vector<std::string> texts;
  for (Type type : types)
    texts.push_back(typeText(cast<RankedTensorType>(type)));
  return texts;
}

static void addNodes(func::FuncOp function, bool isUpdate, std::vector<NodeTypes> &nodes) {
  for (Operation &op : function.front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    // Casts, a file's own types and those of the optimizer follow from the mode alone.
    auto reason = op.getAttrOfType<StringAttr>(train::attr::kReason);
    uint64_t bytes = 0;
    for (Type type : op.getResultTypes())
      bytes += table::storageBytes(cast<RankedTensorType>(type));
    nodes.push_back({nodeNames(op.getLoc()), op.getName().getStringRef().str(),
                     isUpdate                         ? "update"
                     : train::isGradient(op.getLoc()) ? "gradient"
                                                      : "forward",
                     textsOf(op.getOperandTypes()), textsOf(op.getResultTypes()), bytes,
                     reason ? reason.str() : "policy"});
  }
}

static std::vector<NodeTypes> typesOfNodes(ModuleOp module, func::FuncOp update) {
  std::vector<NodeTypes> nodes;
  auto function = module.lookupSymbol<func::FuncOp>("micro");
  addNodes(function ? function : module.lookupSymbol<func::FuncOp>("forward"), false, nodes);
  if (update)
    addNodes(update, true, nodes);
  return nodes;
}

LogicalResult advanceToPrecision(Compilation &compilation) {
  if (failed(compilation.load()))
    return failure();
  if (*finishedPhase(compilation.module()) > Phase::Grad)
    throw runtime::Error(compilation.name(), "has its types already")
        .help("take a model, or a module that --dump-phases wrote after the phase grad")
        .exitWith(2);
  return failure(failed(compilation.checkTrains(Phase::Precision)) ||
                 failed(compilation.advance(Phase::Precision)));
}

FailureOr<std::vector<NodeTypes>> typesOfNodes(Compilation &compilation) {
  ModuleOp module = compilation.module();
  OwningOpRef<ModuleOp> step;
  func::FuncOp update;
  if (!compilation.recipe().optimizer.empty() && module.lookupSymbol("micro")) {
    step = module.clone();
    if (failed(runPhases(*step, compilation.recipe(), Phase::Update)))
      return failure();
    update = step->lookupSymbol<func::FuncOp>("update");
  }
  return typesOfNodes(module, update);
}

std::string meaningOf(llvm::StringRef reason) {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> meanings[] = {
      {"category", "autocast runs this kind of op in this type"},
      {"policy", "it follows from the mode, or from the types of the operands"},
      {"pinned", "--pin asks for this type"},
      {"widened", "operands of several types, or a constant beyond 16 bits, meet in the wider one"},
      {"target", "the target has no such product in 16 bits"}};
  for (auto [name, meaning] : meanings)
    if (name == reason)
      return meaning.str();
  return reason.str();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void printPrecision(const std::vector<NodeTypes> &nodes, llvm::raw_ostream &os) {
  std::vector<TextRow> rows = {{"pass", "node", "op", "types", "reason"}};
  std::vector<std::string> reasons;
  for (const NodeTypes &node : nodes) {
    if (node.op == train::CastOp::getOperationName())
      continue;
    rows.push_back({node.pass, node.node, llvm::StringRef(node.op).split('.').second.str(),
                    llvm::join(node.operands, ", ") + " -> " + llvm::join(node.results, ", "),
                    node.reason});
    if (!llvm::is_contained(reasons, node.reason))
      reasons.push_back(node.reason);
  }
  printTable(rows, os);
  os << '\n';
  for (const std::string &reason : reasons)
    os << reason << ": " << meaningOf(reason) << '\n';
}

void printPrecisionJson(const std::vector<NodeTypes> &nodes, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto types = [&](llvm::StringRef key, const std::vector<std::string> &texts) {
    json.attributeArray(key, [&] {
      for (const std::string &text : texts)
        json.value(text);
    });
  };
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("nodes", [&] {
      for (const NodeTypes &node : nodes)
        json.object([&] {
          json.attribute("node", llvm::json::fixUTF8(node.node));
          json.attribute("op", node.op);
          json.attribute("pass", node.pass);
          types("operand_types", node.operands);
          types("result_types", node.results);
          json.attribute("reason", node.reason);
        });
    });
  });
  os << '\n';
}

} // namespace halfstep

//===- ModuleGraph.cpp - A module as graphs of named nodes ----------------===//

#include "tools/ModuleGraph.h"

#include "ir/Describe.h"
#include "ir/TrainDialect.h"
#include "passes/Directory.h"

using namespace mlir;

namespace halfstep {

llvm::StringRef nameOf(NodePass pass) {
  switch (pass) {
  case NodePass::Argument:
    return "argument";
  case NodePass::Forward:
    return "forward";
  case NodePass::Gradient:
    return "gradient";
  case NodePass::Update:
    return "update";
  }
  llvm_unreachable("unknown pass");
}

std::vector<NamedTensor> namesIn(DictionaryAttr attributes) {
  static constexpr std::pair<llvm::StringLiteral, const char *> roles[] = {
      {train::attr::kInput, "input"},          {train::attr::kLabel, "label"},
      {train::attr::kParameter, "parameter"},  {train::attr::kCopy, "copy"},
      {train::attr::kState, "state"},          {train::attr::kRegion, "region"},
      {train::attr::kRecord, "record"},        {train::attr::kSeed, "seed"},
      {train::attr::kOutput, "output"},        {train::attr::kMetric, "metric"},
      {train::attr::kGradient, "gradient"},    {train::attr::kUpdates, "state"},
      {train::attr::kUpdatesRegion, "region"}, {train::attr::kUpdatesRecord, "record"}};
  std::vector<NamedTensor> tensors;
  if (attributes)
    for (auto [attribute, role] : roles)
      if (Attribute value = attributes.get(attribute)) {
        auto name = dyn_cast<StringAttr>(value); // the label and the seed have none
        tensors.push_back({role, name ? name.str() : role});
      }
  return tensors;
}

namespace {

class FunctionGraph {
public:
  explicit FunctionGraph(func::FuncOp function) : function(function) {
    graph.name = function.getSymName();
  }

  GraphFunction run() {
    for (BlockArgument argument : function.getArguments())
      addArgument(argument);
    Block &body = function.front();
    for (Operation &op : body.without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>() && !isa<table::AliasOp>(op))
        addOperation(op);
    for (auto [number, result] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (auto value = values.find(viewed(result)); value != values.end())
        addNames(nodeOf(value->second), namesIn(function.getResultAttrDict(number)));
    return std::move(graph);
  }

private:
  GraphNode &nodeOf(unsigned value) { return graph.nodes[graph.values[value].node]; }

  static void addNames(GraphNode &node, llvm::ArrayRef<NamedTensor> names) {
    for (const NamedTensor &name : names)
      if (llvm::none_of(node.tensors, [&](const NamedTensor &known) {
            return known.role == name.role && known.name == name.name;
          }))
        node.tensors.push_back(name);
  }

  /// A result of the node that is added next.
  unsigned addValue(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    graph.values.push_back(
        {typeText(type), table::storageBytes(type), unsigned(graph.nodes.size())});
    return values[value] = graph.values.size() - 1;
  }

  void addArgument(BlockArgument argument) {
    std::vector<NamedTensor> tensors = namesIn(function.getArgAttrDict(argument.getArgNumber()));
    std::string role = tensors.empty() ? "argument" : tensors.front().role;
    unsigned value = addValue(argument);
    graph.nodes.push_back({role, NodePass::Argument, {}, "", {}, {value}, std::move(tensors)});
  }

  void addOperation(Operation &op) {
    GraphNode node{op.getName().stripDialect().str(), passOf(op), nodeNameList(op.getLoc())};
    if (auto launch = dyn_cast<table::LaunchOp>(op))
      node.op = launch.getKernel();
    if (auto reason = op.getAttrOfType<StringAttr>(train::attr::kReason))
      node.reason = reason.getValue();
    for (Value operand : op.getOperands())
      if (auto value = values.find(viewed(operand)); value != values.end()) {
        node.operands.push_back(value->second);
        const GraphNode &producer = nodeOf(value->second);
        if (producer.pass == NodePass::Argument)
          addNames(node, producer.tensors);
      }
    for (Value result : op.getResults())
      node.results.push_back(addValue(result));
    graph.nodes.push_back(std::move(node));
  }

  NodePass passOf(Operation &op) {
    if (graph.name == "update" || graph.name == "init")
      return NodePass::Update;
    return train::isGradient(op.getLoc()) ? NodePass::Gradient : NodePass::Forward;
  }

  func::FuncOp function;
  GraphFunction graph;
  llvm::DenseMap<Value, unsigned> values;
};

} // namespace

ModuleGraph ModuleGraph::of(ModuleOp module) {
  ModuleGraph graph;
  for (auto function : module.getOps<func::FuncOp>())
    graph.functions.push_back(FunctionGraph(function).run());
  for (auto tensor : module.getOps<table::TensorOp>())
    if (auto region = tensor.getRegionAttr())
      graph.regions[region.str()].push_back(tensor.getName().str());
  return graph;
}

} // namespace halfstep

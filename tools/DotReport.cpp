//===- DotReport.cpp - A module's graphs for Graphviz ---------------------===//

#include "tools/DotReport.h"

#include "tools/MemorySummary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace halfstep {

/// A quoted string. Graphviz reads a backslash as the beginning of an escape.
static std::string quoted(llvm::StringRef text) {
  std::string result = "\"";
  for (char c : llvm::json::fixUTF8(text)) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

/// The colours of tools/inspect/page.css.
static llvm::StringRef colourOf(llvm::StringRef type) {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> colours[] = {
      {"bf16", "#d3f1e4"}, {"f16", "#cfe2ff"}, {"f32", "#ffe6bd"}, {"f64", "#ffd3cc"}};
  for (auto [element, colour] : colours)
    if (type.ends_with(element))
      return colour;
  return "#e6e8ec";
}

namespace {

/// Nodes by the parts of their names: the directories that "/block/attn/MatMul" is in.
struct Scope {
  std::map<std::string, Scope> scopes;
  std::vector<unsigned> nodes;
};

class FunctionPrinter {
public:
  FunctionPrinter(const GraphFunction &function, unsigned number, llvm::raw_ostream &os)
      : function(function), prefix("f" + std::to_string(number)), os(os) {}

  void run() {
    Scope root;
    for (auto [i, node] : llvm::enumerate(function.nodes)) {
      Scope *scope = &root;
      llvm::SmallVector<llvm::StringRef> parts;
      if (!node.onnxNodes.empty()) // a fused entry is where its first node is
        llvm::StringRef(node.onnxNodes.front()).split(parts, '/', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef part : llvm::ArrayRef(parts).drop_back(!parts.empty()))
        scope = &scope->scopes[part.str()];
      scope->nodes.push_back(i);
    }
    printScope("@" + function.name, root, "  ");
    for (auto [i, node] : llvm::enumerate(function.nodes))
      for (unsigned operand : node.operands) {
        const GraphValue &value = function.values[operand];
        os << "  " << nameOf(value.node) << " -> " << nameOf(i)
           << " [tooltip=" << quoted(value.type + ", " + sizeText(value.bytes)) << "];\n";
      }
  }

private:
  std::string nameOf(unsigned node) const { return prefix + "n" + std::to_string(node); }

  void printScope(const std::string &label, const Scope &scope, const std::string &indent) {
    os << indent << "subgraph cluster_" << prefix << "s" << scopes++ << " {\n"
       << indent << "  label=" << quoted(label) << ";\n";
    for (auto &[name, inner] : scope.scopes)
      printScope(name, inner, indent + "  ");
    for (unsigned node : scope.nodes)
      printNode(node, indent + "  ");
    os << indent << "}\n";
  }

  void printNode(unsigned number, const std::string &indent) {
    const GraphNode &node = function.nodes[number];
    std::string types, tip = llvm::join(node.onnxNodes, ", ");
    uint64_t bytes = 0;
    for (unsigned result : node.results) {
      types += (types.empty() ? "" : ", ") + function.values[result].type;
      bytes += function.values[result].bytes;
    }
    for (const NamedTensor &tensor : node.tensors)
      tip += (tip.empty() ? "" : "\n") + tensor.role + " " + tensor.name;
    tip += "\n" + halfstep::nameOf(node.pass).str() + ", " + sizeText(bytes);
    if (!node.reason.empty())
      tip += "\n" + node.reason;
    std::string title = node.pass == NodePass::Argument && !node.tensors.empty()
                            ? node.tensors.front().name
                            : node.op;
    os << indent << nameOf(number) << " [label=" << quoted(title + "\n" + types)
       << ", fillcolor=" << quoted(colourOf(types)) << ", tooltip=" << quoted(tip)
       << (node.pass == NodePass::Argument ? ", shape=oval" : "") << "];\n";
  }

  const GraphFunction &function;
  const std::string prefix;
  llvm::raw_ostream &os;
  unsigned scopes = 0;
};

} // namespace

void printDot(const ModuleGraph &graph, llvm::raw_ostream &os) {
  os << "digraph halfstep {\n  node [shape=box, style=\"filled,rounded\", "
        "fontname=\"sans-serif\"];\n"
        "  graph [style=\"rounded\", color=\"#9aa5b4\", fontname=\"sans-serif\"];\n";
  for (auto [number, function] : llvm::enumerate(graph.functions))
    FunctionPrinter(function, number, os).run();
  os << "}\n";
}

} // namespace halfstep

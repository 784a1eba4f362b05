//===- ModuleGraph.h - A module as graphs of named nodes ------------------===//
//
// What a drawing of a module needs, apart from MLIR: of each function its operations with the types
// and bytes of their values, why they have those types, and the names that tie them to the ONNX
// file, to one another across phases, and to the named memory that functions share. It is the same
// for every phase: nodes are train ops at first and the entries of programs in the end.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TOOLS_MODULEGRAPH_H
#define HALFSTEP_TOOLS_MODULEGRAPH_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace halfstep {

/// The part of a step that a node belongs to. `Argument` is what a function is given: an input, a
/// parameter, state.
enum class NodePass { Argument, Forward, Gradient, Update };
llvm::StringRef nameOf(NodePass pass);

/// Something that a function's arguments and results are called, as in `train.gradient = "w"`.
struct NamedTensor {
  std::string
      role; // input, label, parameter, copy, gradient, state, region, record, output, metric
  std::string name;
};

/// What the attributes of a function's argument or result call it.
std::vector<NamedTensor> namesIn(mlir::DictionaryAttr attributes);

struct GraphValue {
  std::string type; // 16x10xf32
  uint64_t bytes;   // in storage
  unsigned node;    // that computes it
};

struct GraphNode {
  std::string op; // conv; of a launch the kernel's name, of an argument its role
  NodePass pass;
  std::vector<std::string> onnxNodes; // that it comes from; may be empty
  std::string reason;                 // why it has its types, where a phase has said so
  std::vector<unsigned> operands;     // values
  std::vector<unsigned> results;
  std::vector<NamedTensor> tensors; // that it is (an argument), or directly reads or makes
};

/// Nodes are in the order of execution, arguments first. Constants are no nodes, and aliases are
/// looked through: behind the memory phase, node i behind the arguments is entry i of the program.
struct GraphFunction {
  std::string name;
  std::vector<GraphNode> nodes;
  std::vector<GraphValue> values;
};

struct ModuleGraph {
  std::vector<GraphFunction> functions;
  /// The tensors that lie in a flat region of the state, by the region's name.
  std::map<std::string, std::vector<std::string>> regions;

  static ModuleGraph of(mlir::ModuleOp module);
};

} // namespace halfstep

#endif

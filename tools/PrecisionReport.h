//===- PrecisionReport.h - Which node computes in which type, and why -----===//

#ifndef HALFSTEP_TOOLS_PRECISIONREPORT_H
#define HALFSTEP_TOOLS_PRECISIONREPORT_H

#include "tools/Compilation.h"
#include "llvm/Support/raw_ostream.h"

namespace halfstep {

/// What the precision phase made of an op.
struct NodeTypes {
  std::string node;                           // the ONNX nodes it comes from; may be empty
  std::string op;                             // train.matmul
  std::string pass;                           // forward, gradient, update
  std::vector<std::string> operands, results; // "16x10xf16"
  uint64_t bytes;                             // of the results
  std::string reason;                         // category, policy, ...
};

/// Reads the model and runs the phases up to precision; a module that is past them is an error.
mlir::LogicalResult advanceToPrecision(Compilation &compilation);

/// The ops of @micro behind the precision phase in order (of @forward, where nothing is trained),
/// then those of the @update that the next phase makes, if an optimizer is given.
mlir::FailureOr<std::vector<NodeTypes>> typesOfNodes(Compilation &compilation);

/// What a reason means, in a sentence; the reason itself where it is not known.
std::string meaningOf(llvm::StringRef reason);

/// A table, without casts, which the types of operands show.
void printPrecision(const std::vector<NodeTypes> &nodes, llvm::raw_ostream &os);
/// {"version": 1, "nodes": [{"node", "op", "pass", "operand_types", "result_types", "reason"}]}
void printPrecisionJson(const std::vector<NodeTypes> &nodes, llvm::raw_ostream &os);

} // namespace halfstep

#endif

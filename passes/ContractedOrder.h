//===- ContractedOrder.h - A topological order that survives merging ------===//
//
// While ops are merged into kernels the graph of kernels must stay free of cycles: a kernel that
// waits for itself cannot be launched. The order makes that a local question. Two nodes can be one
// if no path joins them through a third, and every node on such a path is ranked between them;
// after a merge only the nodes in between that depend on one of the two get new ranks.
//
// The algorithm is that of Pearce and Kelly, "A dynamic topological sort algorithm for directed
// acyclic graphs" (JEA 2006), with contractions of nodes in place of insertions of edges.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_CONTRACTEDORDER_H
#define HALFSTEP_PASSES_CONTRACTEDORDER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace halfstep {

/// The ops of a block as nodes of a graph, one each at first. Movement ops are edges, not nodes.
class ContractedOrder {
public:
  explicit ContractedOrder(mlir::Block &block);

  /// Makes the nodes of two ops one, unless that would close a cycle; whether it did.
  bool merge(mlir::Operation *a, mlir::Operation *b);

private:
  using Node = unsigned;
  using Nodes = llvm::SmallVector<Node>;

  /// The nodes that a path from `begin` (or to it) reaches within the ranks between `begin` and
  /// `end`; nullopt if such a path ends in `end`. The edge that joins the two is not such a path.
  std::optional<Nodes> between(Node begin, Node end, bool forward) const;

  llvm::DenseMap<mlir::Operation *, Node> nodeOf;
  std::vector<llvm::SmallVector<mlir::Operation *, 1>> members;
  std::vector<unsigned> rank; // of a node; none depends on one of higher rank
};

} // namespace halfstep

#endif

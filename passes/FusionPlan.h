//===- FusionPlan.h - What is computed together ---------------------------===//

#ifndef HALFSTEP_PASSES_FUSIONPLAN_H
#define HALFSTEP_PASSES_FUSIONPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/ContractedOrder.h"
#include "passes/FusionGroup.h"
#include <memory>

namespace halfstep {

/// Groups of the ops of a program, in an order in which they can be executed together with the ops
/// that belong to no group (matrix products and their biases). Movement ops and constants are in no
/// group.
class FusionPlan {
public:
  /// With `fuse` false every op is a group of its own.
  FusionPlan(mlir::func::FuncOp function, bool fuse);

  struct Step {
    const FusionGroup *group; // or null:
    mlir::Operation *op;      // an op that is no part of a group
  };
  llvm::ArrayRef<Step> steps() const { return sequence; }

private:
  FusionGroup *groupOf(mlir::Operation *op) const { return groups.lookup(op); }
  void merge(FusionGroup *a, FusionGroup *b);
  void fuseAddends();
  void fuseProducers();
  void fuseSiblings();
  void schedule();

  mlir::func::FuncOp function;
  std::vector<std::unique_ptr<FusionGroup>> storage;
  llvm::DenseMap<mlir::Operation *, FusionGroup *> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  ContractedOrder order;
  std::vector<Step> sequence;
};

} // namespace halfstep

#endif

//===- FusionGroup.h - What may be computed in one kernel -----------------===//

#ifndef HALFSTEP_PASSES_FUSIONGROUP_H
#define HALFSTEP_PASSES_FUSIONGROUP_H

#include "mlir/IR/Operation.h"
#include "passes/Access.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace halfstep {

/// The operands whose elements `op` computes with: all, but for what it is computed in place of.
mlir::ValueRange elementOperands(mlir::Operation *op);

/// Ops computed at every point of one space, whose dimensions are those larger than 1 of the ops'
/// values. If the group reduces, then over one run of adjacent dimensions; the results of its
/// reductions, and ops on them, are *reduced* values, which do not vary along the run.
struct FusionGroup {
  Sizes space;
  unsigned runBegin = 0, runEnd = 0; // equal: no reduction
  llvm::SetVector<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Operation *> reduced;

  /// The group of one op.
  static FusionGroup of(mlir::Operation *op);
  /// The union of two groups over a common space, if there is one; not yet known to be valid.
  static std::optional<FusionGroup> unite(const FusionGroup &a, const FusionGroup &b);

  bool reduces() const { return runBegin != runEnd; }
  /// Over the last dimensions (one result a row) or others (one result a column).
  bool reducesRows() const { return runEnd == space.size(); }

  /// The space without the run.
  Sizes kept() const;
  /// How a result of `op`, a value of the group that is stored row-major, is walked over the space.
  Walk resultWalk(mlir::Operation *op) const;
  /// How the root of `operand` of `op` is walked over the space.
  Walk operandWalk(mlir::Operation *op, mlir::Value operand) const;
  /// Strides over the kernel's space, in which the run is one dimension and, behind a run of rows,
  /// the columns are one; nullopt if the strides do not allow that.
  std::optional<Sizes> kernelStrides(llvm::ArrayRef<int64_t> strides) const;
  Sizes kernelSpace() const;

  /// Whether the ops can form one kernel: values are used where they are computed, buffers can be
  /// walked, and nothing needs a reduction before it is there.
  bool isValid() const;
};

} // namespace halfstep

#endif

//===- GroupWriter.h - A fusion group as a kernel -------------------------===//

#ifndef HALFSTEP_PASSES_GROUPWRITER_H
#define HALFSTEP_PASSES_GROUPWRITER_H

#include "ir/KernelDialect.h"
#include "passes/FusionGroup.h"

namespace halfstep {

/// A kernel and the values that a launch of it reads and gives, in the order of its buffers. Inputs
/// are roots (see Access); one that a result updates in place is among them.
struct WrittenGroup {
  kernel::GroupOp kernel;
  mlir::Location location; // of all ops
  llvm::SmallVector<mlir::Value> inputs, results;
};

/// Writes `group` as a kernel whose name is `prefix` and its first ops. Results are the values that
/// ops outside of the group read.
WrittenGroup writeGroup(mlir::OpBuilder &builder, llvm::StringRef prefix, const FusionGroup &group);

} // namespace halfstep

#endif

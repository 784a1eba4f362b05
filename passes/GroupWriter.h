//===- GroupWriter.h - A fusion group as a kernel -------------------------===//

#ifndef HALFSTEP_PASSES_GROUPWRITER_H
#define HALFSTEP_PASSES_GROUPWRITER_H

#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
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

/// A launch of `group`, which says of its results in place of arguments that they are.
table::LaunchOp createLaunch(mlir::OpBuilder &builder, mlir::Location location,
                             mlir::TypeRange types, kernel::GroupOp group,
                             mlir::ValueRange operands);

} // namespace halfstep

#endif

//===- PrecisionReport.h - Which node computes in which type, and why -----===//

#ifndef HALFSTEP_TOOLS_PRECISIONREPORT_H
#define HALFSTEP_TOOLS_PRECISIONREPORT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace halfstep {

/// {"version": 1, "nodes": [{"node", "op", "pass", "operand_types", "result_types", "reason"}]} of
/// a module behind the precision phase: the ops of @micro in order, then those of `update`, which
/// may be null.
void printPrecisionReport(mlir::ModuleOp module, mlir::func::FuncOp update, llvm::raw_ostream &os);

} // namespace halfstep

#endif

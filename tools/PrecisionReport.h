//===- PrecisionReport.h - Which node computes in which type, and why -----===//

#ifndef HALFSTEP_TOOLS_PRECISIONREPORT_H
#define HALFSTEP_TOOLS_PRECISIONREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace halfstep {

/// {"version": 1, "nodes": [{"node", "op", "pass", "operand_types", "result_types", "reason"}]} of
/// a module behind the precision phase: the ops of @micro in order.
void printPrecisionReport(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace halfstep

#endif

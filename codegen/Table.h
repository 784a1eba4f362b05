//===- Table.h - the tables of an artefact -------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_TABLE_H
#define HALFSTEP_CODEGEN_TABLE_H

#include "codegen/KernelCode.h"

#include "mlir/IR/BuiltinOps.h"

namespace halfstep::codegen {

/// Prints the tables of runtime/step_abi.h into the module of `kernels`, and the one exported
/// function that gives them. `module` is in the form that the memory phase leaves, and `kernels`
/// were emitted from it; what is missing in it is reported at its operations.
mlir::LogicalResult writeTables(mlir::ModuleOp module, const KernelCode &kernels,
                                const CpuTarget &target);

/// The number that the memory phase has left in an attribute of the module; without it, an error.
mlir::FailureOr<int64_t> numberOf(mlir::ModuleOp module, llvm::StringRef attribute);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_TABLE_H

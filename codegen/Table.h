//===- Table.h - the tables of an artefact -------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_TABLE_H
#define HALFSTEP_CODEGEN_TABLE_H

#include "codegen/CpuTarget.h"
#include "codegen/EmitCpu.h"

#include "mlir/IR/BuiltinOps.h"

namespace halfstep::codegen {

/// A kernel's code and how it is divided into tasks.
struct KernelCode {
  llvm::Function *function;
  Work work;
};

/// Prints the tables of runtime/step_abi.h into `code`, which holds the kernels, and the one
/// exported function that gives them. `module` is in the form that the memory phase leaves; what
/// is missing in it is reported at its operations. `kernels` are found by symbol.
mlir::LogicalResult writeTables(mlir::ModuleOp module, const llvm::StringMap<KernelCode> &kernels,
                                const CpuTarget &target, llvm::Module &code);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_TABLE_H

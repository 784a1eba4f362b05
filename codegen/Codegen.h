//===- Codegen.h - from a planned module to an artefact ------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CODEGEN_H
#define HALFSTEP_CODEGEN_CODEGEN_H

#include "codegen/Link.h"
#include "codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace halfstep::codegen {

/// A compiled training step.
struct CompiledArtefact {
  std::string object;       ///< relocatable object code, for a linker of the user's own
  std::string sharedObject; ///< what the runtime loads
};

/// Compiles a module as the memory phase leaves it: kernels that are launched, programs and
/// directory, see Table.h. Errors are diagnostics at the module's operations. The module is not
/// changed.
mlir::FailureOr<CompiledArtefact> compileModule(mlir::ModuleOp module, const Target &target);

/// The relocatable object code alone; needs no linker.
mlir::FailureOr<std::string> compileToObject(mlir::ModuleOp module, const Target &target);

/// The same as LLVM IR, optimised, for people to read.
mlir::FailureOr<std::string> compileToLlvmIr(mlir::ModuleOp module, const Target &target);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CODEGEN_H

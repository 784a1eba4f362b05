//===- RetargetToHost.h - CUDA kernels as functions of the host ----------------------------===//

#ifndef HALFSTEP_CODEGEN_RETARGETTOHOST_H
#define HALFSTEP_CODEGEN_RETARGETTOHOST_H

#include "mlir/IR/BuiltinOps.h"

namespace halfstep::codegen {

/// The attribute that says how much shared memory a retargeted kernel has, in bytes.
inline constexpr llvm::StringLiteral kSharedBytes = "shared_bytes";

/// Makes each CUDA kernel of a lowered module (Functions::Portable) what the emulator calls,
/// `void name(void *const *parameters, hs_emulated_thread *self)` of runtime/emulation_abi.h, and
/// gives it the attribute kSharedBytes.
void retargetToHost(mlir::ModuleOp kernels);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_RETARGETTOHOST_H

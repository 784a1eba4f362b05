//===- LowerToLlvm.h - from kernels to LLVM IR ---------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_LOWERTOLLVM_H
#define HALFSTEP_CODEGEN_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

namespace halfstep::codegen {

/// Loads the dialects that kernels are emitted and lowered in.
void loadKernelDialects(mlir::MLIRContext &context);

/// Lowers a module of emitted kernels to the LLVM dialect.
mlir::LogicalResult lowerToLlvm(mlir::ModuleOp kernels);

/// The same as LLVM IR, in one step.
std::unique_ptr<llvm::Module> translateToLlvmIr(mlir::ModuleOp kernels, llvm::LLVMContext &context);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_LOWERTOLLVM_H

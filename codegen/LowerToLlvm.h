//===- LowerToLlvm.h - from kernels to LLVM IR ---------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_LOWERTOLLVM_H
#define HALFSTEP_CODEGEN_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

namespace halfstep::codegen {

/// Loads the dialects that kernels are emitted and lowered in.
void loadKernelDialects(mlir::MLIRContext &context);

/// What exp, log and their like become.
enum class Functions {
  Host,      ///< f32: our polynomials; f64: calls of the C library
  Libdevice, ///< calls of CUDA's device library, `__nv_*`
  Portable   ///< CUDA with our polynomials for f32: the bits are the CPU's
};

/// Lowers a module of emitted kernels to the LLVM dialect.
mlir::LogicalResult lowerToLlvm(mlir::ModuleOp kernels, Functions functions = Functions::Host);

/// The same as LLVM IR, in one step.
std::unique_ptr<llvm::Module> translateToLlvmIr(mlir::ModuleOp kernels, llvm::LLVMContext &context,
                                                Functions functions = Functions::Host);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_LOWERTOLLVM_H

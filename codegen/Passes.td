//===- Passes.td - Code generation, step by step -------------------------------------------===//
//
// The compiler calls these steps as functions; as passes they are for halfstep-opt: to look at what
// becomes of a kernel, and for tests of it.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_PASSES
#define HALFSTEP_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def EmitCpuKernelsPass : Pass<"emit-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Replace groups and contractions by functions of loops and vectors";
  let description = [{
    A function `@NAME` has the attributes `units` and `grain`: how the runtime divides its work.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerKernelsPass : Pass<"lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Lower emitted kernels to the LLVM dialect";
  let description = [{
    Elementary functions of f32 become polynomials (`codegen/MathPolynomials.cpp`), those of f64 calls
    of the C library.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // HALFSTEP_CODEGEN_PASSES

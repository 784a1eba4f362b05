//===- EmitCpu.h - kernels for the CPU -----------------------------------------------------===//
//
// A kernel is `void kernel(void *const *buffers, int64_t lo, int64_t hi)`: it does the units
// [lo, hi) of its work. Units are independent, and what is computed does not depend on how they are
// divided among calls.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_EMITCPU_H
#define HALFSTEP_CODEGEN_EMITCPU_H

#include "ir/KernelDialect.h"

namespace halfstep::codegen {

/// How the runtime divides a kernel's work: see hs_launch in runtime/step_abi.h.
struct Work {
  int64_t units;
  int64_t grain; ///< units worth one task
};

/// Emits the function `@NAME` for a group or a contraction at the builder's insertion point.
/// A group whose column reduction has several chunks must have been split before.
mlir::FailureOr<Work> emitCpuKernel(mlir::OpBuilder &builder, kernel::GroupOp group);
mlir::FailureOr<Work> emitCpuKernel(mlir::OpBuilder &builder, kernel::ContractOp contract);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_EMITCPU_H

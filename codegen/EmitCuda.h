//===- EmitCuda.h - kernels for CUDA -------------------------------------------------------===//
//
// A kernel is a grid of blocks of threads over the buffers' addresses, in the order of the group's.
// The same groups as on the CPU, over the same reduction trees.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_EMITCUDA_H
#define HALFSTEP_CODEGEN_EMITCUDA_H

#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"

namespace halfstep::codegen {

/// How a kernel is launched. Both are one-dimensional: what they mean is in the kernel.
struct Grid {
  int64_t blocks;
  int64_t threads; ///< of a block
  /// Blocks that a multiprocessor must have registers for; 0: ptxas weighs them against spills.
  int64_t together = 0;
};

/// Emits the function `@NAME` for a group or a contraction at the builder's insertion point, and
/// its shared memory beside it. A group whose column reduction has several chunks must have been
/// split.
mlir::FailureOr<Grid> emitCudaKernel(mlir::OpBuilder &builder, kernel::GroupOp group);
mlir::FailureOr<Grid> emitCudaKernel(mlir::OpBuilder &builder, kernel::ContractOp contract);

/// Emits the function `@NAME` over the addresses of the entry's slices, in the order of
/// runtime/step_abi.h. It does what the runtime does on the CPU: a pooling to the bit, a
/// convolution in sums of another order. What has no hs_type is reported at the op.
mlir::FailureOr<Grid> emitCudaKernel(mlir::OpBuilder &builder, table::ConvOp conv,
                                     llvm::StringRef name);
mlir::FailureOr<Grid> emitCudaKernel(mlir::OpBuilder &builder, table::PoolOp pool,
                                     llvm::StringRef name);

/// The same for a convolution with a group and its weight gradient.
mlir::FailureOr<Grid> emitCudaKernel(mlir::OpBuilder &builder, table::FusedConvOp conv,
                                     kernel::GroupOp group, llvm::StringRef name);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_EMITCUDA_H

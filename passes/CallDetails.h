//===- CallDetails.h - What the runtime is told of a library call ---------===//
//
// The details of entries that are not generated, as in runtime/step_abi.h: code generation prints
// them, and the scratch memory that the call takes follows from them.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_CALLDETAILS_H
#define HALFSTEP_PASSES_CALLDETAILS_H

#include "ir/TableDialect.h"
#include "runtime/step_abi.h"

namespace halfstep {

/// The hs_type of an element type.
std::optional<hs_type> storageTypeOf(mlir::Type type);

/// What a library call is called in reports: gemm, conv_forward, pool_max...
std::string callName(mlir::Operation &call);

/// The detail of a call; what cannot be said in one is reported at the op.
mlir::FailureOr<hs_gemm> describe(table::GemmOp op);
mlir::FailureOr<hs_conv> describe(table::ConvOp op);
mlir::FailureOr<hs_pool> describe(table::PoolOp op);
/// The forward convolution; its parts are those of the weight gradient.
mlir::FailureOr<hs_conv> describe(table::FusedConvOp op);

/// The scratch memory that an entry needs of each thread, in bytes (runtime/Scratch.h). Reports
/// entries that have no detail, and those that no bound holds for.
mlir::FailureOr<uint64_t> scratchBytesOf(mlir::Operation *entry);

} // namespace halfstep

#endif

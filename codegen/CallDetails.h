//===- CallDetails.h - the details of library calls ----------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CALLDETAILS_H
#define HALFSTEP_CODEGEN_CALLDETAILS_H

#include "codegen/Constants.h"
#include "ir/TableDialect.h"
#include "runtime/step_abi.h"

namespace halfstep::codegen {

/// The hs_type of an element type.
std::optional<hs_type> storageTypeOf(mlir::Type type);

/// What the op says as the runtime has it; types that have no hs_type are reported at the op.
mlir::FailureOr<hs_conv> describe(table::ConvOp op);
mlir::FailureOr<hs_pool> describe(table::PoolOp op);

/// What a library call is called in reports: gemm, conv_forward, pool_max...
std::string callName(mlir::Operation &call);

/// The address of an hs_gemm, hs_conv or hs_pool; what cannot be said in one is reported at the op.
mlir::FailureOr<llvm::Constant *> detailOf(table::GemmOp op, ConstantWriter &c);
mlir::FailureOr<llvm::Constant *> detailOf(table::ConvOp op, ConstantWriter &c);
mlir::FailureOr<llvm::Constant *> detailOf(table::PoolOp op, ConstantWriter &c);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CALLDETAILS_H

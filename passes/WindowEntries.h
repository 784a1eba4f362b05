//===- WindowEntries.h - Convolution and pooling as table entries ---------===//

#ifndef HALFSTEP_PASSES_WINDOWENTRIES_H
#define HALFSTEP_PASSES_WINDOWENTRIES_H

#include "ir/TableDialect.h"
#include "mlir/IR/Operation.h"

namespace halfstep {

/// The entry for a convolution, a pooling or an adjoint of one, on `operands` in memory; null for
/// any other op. The result is the op's but for a weight gradient: partial sums of it.
mlir::Value createWindowEntry(mlir::OpBuilder &builder, mlir::Operation *op,
                              mlir::ValueRange operands);

} // namespace halfstep

#endif

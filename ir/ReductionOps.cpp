//===- ReductionOps.cpp - Long rules of the reductions --------------------===//

#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep::train;

Expr halfstep::train::extremumGradient(Expr x, Expr y, Expr dy, ArrayRef<int64_t> axes) {
  Expr isExtremum = x == y;
  Expr count = sum(convert(isExtremum, computeType(x.elementType())), axes);
  return select(isExtremum, broadcast(dy / convert(count, x.elementType()), x), constant(dy, 0.0));
}

LogicalResult AdjointOp::verify() {
  auto primal = cast<RankedTensorType>(getPrimal().getType());
  if (getContributions().empty())
    return emitOpError("needs at least one contribution");
  if (cast<RankedTensorType>(getDx().getType()).getShape() != primal.getShape())
    return emitOpError("has another shape than its primal");
  for (Value contribution : getContributions())
    if (failed(ShapeBuilder(getLoc(), getOperationName())
                   .broadcast(primal, cast<RankedTensorType>(contribution.getType()).getShape())))
      return failure();
  return success();
}

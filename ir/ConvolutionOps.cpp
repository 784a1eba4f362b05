//===- ConvolutionOps.cpp - The rules of convolution and pooling ----------===//

#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep::train;

/// Sizes behind the batch and the channels.
static ArrayRef<int64_t> spatialSizes(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().drop_front(2);
}

SmallVector<Expr> ConvOp::gradient(ExprBuilder &e, Expr dy) {
  ImplicitLocOpBuilder &b = e.builder;
  return {e(b.create<ConvInputGradientOp>(dy.value, getW(), spatialSizes(getX()), getStrides(),
                                          getDilations(), getPads(), getGroups())),
          e(b.create<ConvWeightGradientOp>(dy.value, getX(), spatialSizes(getW()), getStrides(),
                                           getDilations(), getPads(), getGroups()))};
}

SmallVector<Expr> MaxPoolOp::gradient(ExprBuilder &e, Expr dy) {
  return {e(e.builder.create<MaxPoolGradientOp>(getX(), dy.value, getKernel(), getStrides(),
                                                getDilations(), getPads()))};
}

SmallVector<Expr> AveragePoolOp::gradient(ExprBuilder &e, Expr dy) {
  return {e(e.builder.create<AveragePoolGradientOp>(dy.value, getKernel(), getStrides(),
                                                    getDilations(), getPads(), getCountedPads(),
                                                    spatialSizes(getX())))};
}

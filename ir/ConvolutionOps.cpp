//===- ConvolutionOps.cpp - The rules of convolution and pooling ----------===//

#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep::train;

/// Sizes behind the batch and the channels.
static ArrayRef<int64_t> sizesOf(Value value) {
  return halfstep::train::spatialSizes(cast<RankedTensorType>(value.getType()),
                                       /*channelsLast=*/false);
}

SmallVector<Expr> ConvOp::gradient(ExprBuilder &e, Expr dy) {
  ImplicitLocOpBuilder &b = e.builder;
  return {e(b.create<ConvInputGradientOp>(dy.value, getW(), sizesOf(getX()), getStrides(),
                                          getDilations(), getPads(), getGroups())),
          e(b.create<ConvWeightGradientOp>(dy.value, getX(), sizesOf(getW()), getStrides(),
                                           getDilations(), getPads(), getGroups()))};
}

SmallVector<Expr> MaxPoolOp::gradient(ExprBuilder &e, Expr dy) {
  return {e(e.builder.create<MaxPoolGradientOp>(getX(), dy.value, getKernel(), getStrides(),
                                                getDilations(), getPads()))};
}

SmallVector<Expr> AveragePoolOp::gradient(ExprBuilder &e, Expr dy) {
  return {
      e(e.builder.create<AveragePoolGradientOp>(dy.value, getKernel(), getStrides(), getDilations(),
                                                getPads(), getCountedPads(), sizesOf(getX())))};
}

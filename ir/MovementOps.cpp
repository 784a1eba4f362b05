//===- MovementOps.cpp - Long rules of movement, and what moves nothing ---===//

#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep::train;

Expr halfstep::train::paddingGradient(Expr x, Expr dy, const Place &place) {
  Type boolean = x.builder->getI1Type();
  Expr no = convert(constant(dy, 0.0), boolean), yes = convert(constant(dy, 1.0), boolean);
  Expr isPadding = pad(broadcast(no, x), yes, place, dy.sizes());
  return sumAll(select(isPadding, dy, constant(dy, 0.0)));
}

SmallVector<Expr> ConcatOp::gradient(ExprBuilder &, Expr dy) {
  SmallVector<int64_t> offsets(dy.sizes().size(), 0), strides(dy.sizes().size(), 1);
  SmallVector<Expr> adjoints;
  for (Value x : getXs()) {
    ArrayRef<int64_t> sizes = cast<RankedTensorType>(x.getType()).getShape();
    adjoints.push_back(slice(dy, {offsets, strides}, sizes));
    offsets[getAxis()] += sizes[getAxis()];
  }
  return adjoints;
}

//===----------------------------------------------------------------------===//
// What moves nothing folds away
//===----------------------------------------------------------------------===//

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) { // the sizes are the outer's alone
    getXMutable().set(inner.getX());
    return getResult();
  }
  return {};
}
OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? getX() : Value();
}
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, p] : llvm::enumerate(getPermutation()))
    if (int64_t(i) != p)
      return {};
  return getX();
}

/// Whether a part of the whole's sizes is the whole, and not the whole backwards.
static bool isWhole(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  return llvm::all_of(llvm::zip(sizes, strides), [](auto dimension) {
    auto [size, stride] = dimension;
    return size == 1 || stride == 1;
  });
}
OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getX().getType() == getType() && isWhole(getSizes(), getStrides()) ? getX() : Value();
}
OpFoldResult PadOp::fold(FoldAdaptor) {
  return getX().getType() == getType() && isWhole(getSizes(), getStrides()) ? getX() : Value();
}
OpFoldResult ConcatOp::fold(FoldAdaptor) { return getXs().size() == 1 ? getXs().front() : Value(); }

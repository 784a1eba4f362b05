//===- ExpandAdjoints.cpp - Adjoints as sums and additions ----------------===//
//
// Runs when the types are final. Every contribution is summed over the axes along which the primal
// was broadcast; then all are added, in the order of the operands, in f32 (f64 for f64), and the
// sum is rounded once to the type of the result.
//
// The adjoints of slices that lie beside each other are not added to each other's zeros but put
// together, so that taking a tensor apart (Split, a loop over time) moves it once on the way back:
//
//     adjoint(pad(%a) at 0, pad(%b) at 2)   =>   concat(%a, %b)
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_EXPANDADJOINTSPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
/// `x` summed to `sizes`, to which it is numpy-style broadcastable from.
Expr sumTo(Expr x, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> axes;
  int64_t missing = int64_t(x.sizes().size()) - int64_t(sizes.size());
  for (auto [axis, size] : llvm::enumerate(x.sizes()))
    if (int64_t(axis) < missing ? size != 1 : size != sizes[axis - missing])
      axes.push_back(axis);
  if (!axes.empty())
    x = sum(x, axes);
  return reshape(x, sizes);
}

/// What is padded with zeros along one axis only.
struct PaddedPart {
  Value x;
  int64_t axis, begin, end;

  bool fitsBeside(const PaddedPart &other) const {
    return axis == other.axis && (end <= other.begin || other.end <= begin) &&
           getElementTypeOrSelf(x) == getElementTypeOrSelf(other.x);
  }
};

bool isZero(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getX();
  return matchPattern(value, m_AnyZeroFloat());
}

std::optional<PaddedPart> paddedPart(Value value) {
  auto pad = value.getDefiningOp<PadOp>();
  if (!pad || !isZero(pad.getValue()))
    return std::nullopt;
  std::optional<PaddedPart> result;
  for (auto [axis, size] :
       llvm::enumerate(cast<RankedTensorType>(pad.getX().getType()).getShape())) {
    int64_t begin = pad.getOffsets()[axis];
    if (size != 1 && pad.getStrides()[axis] != 1)
      return std::nullopt;
    if (size == pad.getSizes()[axis])
      continue;
    if (result)
      return std::nullopt;
    result = {pad.getX(), int64_t(axis), begin, begin + size};
  }
  return result;
}

/// The sum of parts that fit beside each other, with zeros where there is none.
Value join(ImplicitLocOpBuilder &b, SmallVector<PaddedPart> parts, ArrayRef<int64_t> sizes) {
  llvm::sort(parts, [](auto &a, auto &b) { return a.begin < b.begin; });
  int64_t axis = parts[0].axis, end = 0;
  SmallVector<Expr> pieces;
  auto fillTo = [&](int64_t begin) {
    if (begin == end)
      return;
    SmallVector<int64_t> gap(sizes);
    gap[axis] = begin - end;
    Expr zero = constant({parts[0].x, &b}, 0.0);
    pieces.push_back({b.create<BroadcastOp>(zero.value, gap), &b});
  };
  for (const PaddedPart &part : parts) {
    fillTo(part.begin);
    pieces.push_back({part.x, &b});
    end = part.end;
  }
  fillTo(sizes[axis]);
  return concat(pieces, axis).value;
}

/// The contributions, runs of parts joined. Order is kept: of the terms that one element has in a
/// run, all but one are the zeros of padding.
SmallVector<Value> joinParts(ImplicitLocOpBuilder &b, ValueRange contributions,
                             ArrayRef<int64_t> sizes) {
  SmallVector<Value> result;
  while (!contributions.empty()) {
    SmallVector<PaddedPart> parts;
    for (Value contribution : contributions) {
      auto part = paddedPart(contribution);
      if (!part || !llvm::all_of(parts, [&](auto &other) { return part->fitsBeside(other); }))
        break;
      parts.push_back(*part);
    }
    bool isRun = parts.size() > 1;
    result.push_back(isRun ? join(b, parts, sizes) : contributions.front());
    contributions = contributions.drop_front(isRun ? parts.size() : 1);
  }
  return result;
}

struct ExpandAdjoints : halfstep::impl::ExpandAdjointsPassBase<ExpandAdjoints> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([](AdjointOp adjoint) {
      ImplicitLocOpBuilder b(adjoint.getLoc(), adjoint);
      auto type = cast<RankedTensorType>(adjoint.getType());
      Expr total;
      SmallVector<Value> contributions = joinParts(b, adjoint.getContributions(), type.getShape());
      for (Value contribution : contributions) {
        Expr one{contribution, &b};
        if (contributions.size() > 1 || one.sizes() != type.getShape())
          one = sumTo(convert(one, computeType(one.elementType())), type.getShape());
        total = total ? total + one : one;
      }
      adjoint.replaceAllUsesWith(convert(total, type.getElementType()).value);
      adjoint.erase();
    });
  }
};
} // namespace

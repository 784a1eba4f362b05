//===- ExpandAdjoints.cpp - Adjoints as sums and additions ----------------===//
//
// Runs when the types are final. Every contribution is summed over the axes along which the primal
// was broadcast; then all are added, in the order of the operands, in f32 (f64 for f64), and the
// sum is rounded once to the type of the result.
//
//===----------------------------------------------------------------------===//

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

struct ExpandAdjoints : halfstep::impl::ExpandAdjointsPassBase<ExpandAdjoints> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([](AdjointOp adjoint) {
      ImplicitLocOpBuilder b(adjoint.getLoc(), adjoint);
      auto type = cast<RankedTensorType>(adjoint.getType());
      Expr total;
      for (Value contribution : adjoint.getContributions()) {
        Expr one{contribution, &b};
        if (adjoint.getContributions().size() > 1 || one.sizes() != type.getShape())
          one = sumTo(convert(one, computeType(one.elementType())), type.getShape());
        total = total ? total + one : one;
      }
      adjoint.replaceAllUsesWith(convert(total, type.getElementType()).value);
      adjoint.erase();
    });
  }
};
} // namespace

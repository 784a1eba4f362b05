//===- ExpandComposites.cpp - Softmax, losses and the like in parts -------===//
//
// The parts of an op are computed in f32, as the op itself is, and only its result is rounded.
// Categories and the reasons of types have served and are removed, so that what forward and
// backward have in common is one value after CSE; but for Low, which tells an addition that is part
// of a product (passes/BiasedProduct.h).
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_EXPANDCOMPOSITESPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
struct ExpandComposites : halfstep::impl::ExpandCompositesPassBase<ExpandComposites> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      op->removeAttr(attr::kReason);
      if (isa<PrecisionOpInterface>(op) && categoryOf(op) != Precision::Low)
        op->removeAttr(attr::kCategory);
    });
    getOperation().walk([](ExpansionOpInterface op) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      ExprBuilder e{b};
      for (OpOperand &operand : op->getOpOperands()) {
        Expr value = e(operand.get());
        operand.set(convert(value, computeType(value.elementType())).value);
      }
      Expr result = convert(op.expand(e), getElementTypeOrSelf(op->getResult(0).getType()));
      op->replaceAllUsesWith(ValueRange{result.value});
      op->erase();
    });
  }
};
} // namespace

//===- ExpandComposites.cpp - Softmax, losses and the like in parts -------===//
//
// The parts of an op are computed in f32, as the op itself is, and only its result is rounded.
//

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

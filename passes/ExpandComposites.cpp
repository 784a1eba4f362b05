//===- ExpandComposites.cpp - Softmax, losses and the like in parts -------===//

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
      op->replaceAllUsesWith(ValueRange{op.expand(e).value});
      op->erase();
    });
  }
};
} // namespace

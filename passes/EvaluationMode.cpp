//===- EvaluationMode.cpp - What works differently when nothing is trained ===//
//
// Ops like dropout stand in their training form (EvaluationOpInterface). Only @micro trains: in
// every other function they are replaced by what they are in evaluation. After the loss, which
// makes the functions, and before autodiff, which needs only one of the forms.
//
//     func @evaluate(...) {
//       %bits = train.random_bits 0 in [4, 8]
//       %y = train.dropout %x, %bits {ratio = 0.5}
//       %z = train.relu %y
// =>
//       %z = train.relu %x
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_EVALUATIONMODEPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
struct EvaluationMode : halfstep::impl::EvaluationModePassBase<EvaluationMode> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getSymName() != "micro")
        function.walk([](EvaluationOpInterface op) {
          ImplicitLocOpBuilder b(op.getLoc(), op);
          ExprBuilder e{b};
          op->replaceAllUsesWith(ValueRange{op.evaluation(e).value});
          op->erase();
        });
  }
};
} // namespace

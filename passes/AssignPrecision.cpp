//===- AssignPrecision.cpp - The types of the precision mode --------------===//

#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_ASSIGNPRECISIONPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;

namespace {
struct AssignPrecision : halfstep::impl::AssignPrecisionPassBase<AssignPrecision> {
  using Base::Base;

  void runOnOperation() override {
    if (mode == "as-is")
      return;
    if (mode != "fp32") {
      emitError(getOperation().getLoc()) << "unknown precision '" << mode << "'";
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([](Operation *op) {
      for (Type type : op->getResultTypes()) {
        Type element = getElementTypeOrSelf(type);
        if (!isa<FloatType>(element) || element.isF32())
          continue;
        auto diagnostic = emitError(op->getLoc())
                          << "computes in " << element << ", which --precision fp32 does not";
        diagnostic.attachNote() << "help: --precision as-is keeps the types of the file";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

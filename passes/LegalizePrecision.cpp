//===- LegalizePrecision.cpp - From the wished to the possible ------------===//
//
// `assign-precision` gives every op the type that the mode wishes; this pass takes back what the
// target cannot multiply in. Only contractions are concerned: for all other ops a 16-bit type is
// storage, their arithmetic is in f32 on every target. A contraction that is taken back works in
// f32 and its result is rounded to the type it was to have, so that its neighbours, what is saved
// for the backward pass and the gradients' types stay as the mode promises.
//
//     %y = train.matmul %x, %w {train.reason = "category"} : (bf16, bf16) -> bf16
// =>  (a target without products of bf16)
//     %0 = train.cast %x to f32
//     %1 = train.cast %w to f32
//     %2 = train.matmul %0, %1 {train.reason = "target"} : (f32, f32) -> f32
//     %y = train.cast %2 to bf16
//
// The split into wish and ability is that of LLVM's type legalisation.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/TargetAbility.h"

namespace halfstep {
#define GEN_PASS_DEF_LEGALIZEPRECISIONPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
struct LegalizePrecision : halfstep::impl::LegalizePrecisionPassBase<LegalizePrecision> {
  using Base::Base;

  static bool isContraction(Operation *op) {
    auto entry = dyn_cast<PrecisionOpInterface>(op);
    return entry && entry.precision() == Precision::Low;
  }

  void widen(Operation *op) {
    Type f32 = Float32Type::get(&getContext());
    auto cast = [&](OpBuilder &builder, Value value, Type element) {
      ImplicitLocOpBuilder b(op->getLoc(), builder);
      return convert(Expr{value, &b}, element).value;
    };
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(cast(builder, operand.get(), f32));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      Type wished = getElementTypeOrSelf(result.getType());
      result.setType(mlir::cast<RankedTensorType>(result.getType()).clone(f32));
      Value rounded = cast(builder, result, wished);
      result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    }
    op->setAttr(attr::kReason, builder.getStringAttr("target"));
  }

  void runOnOperation() override {
    const TargetAbility *ability = TargetAbility::of(target);
    if (!ability) {
      emitError(getOperation().getLoc()) << "legalize-precision: unknown target '" << target << "'";
      return signalPassFailure();
    }
    getOperation().walk([&](Operation *op) {
      if (isContraction(op) && !llvm::all_of(op->getOperandTypes(), [&](Type type) {
            return ability->multiplies(getElementTypeOrSelf(type));
          }))
        widen(op);
    });
  }
};
} // namespace

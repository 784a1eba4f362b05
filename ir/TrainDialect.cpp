//===- TrainDialect.cpp - Tensor values of a training step ----------------===//

#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace halfstep::train;

#include "ir/TrainDialect.cpp.inc"
#include "ir/TrainEnums.cpp.inc"
#include "ir/TrainInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "ir/TrainOps.cpp.inc"

void TrainDialect::initialize() {
  getContext()->loadDialect<arith::ArithDialect, math::MathDialect>();
  addOperations<
#define GET_OP_LIST
#include "ir/TrainOps.cpp.inc"
      >();
}

Precision halfstep::train::categoryOf(Operation *op) {
  if (auto category = op->getAttrOfType<IntegerAttr>(attr::kCategory))
    return Precision(category.getInt());
  return cast<PrecisionOpInterface>(op).precision();
}
void halfstep::train::setCategory(Operation *op, Precision category) {
  op->setAttr(attr::kCategory,
              IntegerAttr::get(IntegerType::get(op->getContext(), 32), int64_t(category)));
}

static constexpr StringLiteral kGradientMark = "gradient";

Location halfstep::train::gradientLocation(Location primal) {
  return FusedLoc::get({primal}, StringAttr::get(primal.getContext(), kGradientMark),
                       primal.getContext());
}
bool halfstep::train::isGradient(Location location) {
  // Several such places may have been fused into one.
  return location
      ->walk([](Location part) {
        auto marked = dyn_cast<FusedLocWith<StringAttr>>(part);
        return marked && marked.getMetadata() == kGradientMark ? WalkResult::interrupt()
                                                               : WalkResult::advance();
      })
      .wasInterrupted();
}

//===- ParameterClass.cpp - Full and low parameters -----------------------===//

#include "passes/ParameterClass.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Access.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

/// Whether a reader of `value` may read it in 16 bits.
static bool isReadNarrow(Value value, Pins &pins) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<AdjointOp>(user)) // names its primal, reads nothing
      return false;
    if (isMovement(user))
      return isReadNarrow(user->getResult(0), pins);
    if (!isa<PrecisionOpInterface>(user))
      return false;
    Precision category = categoryOf(user);
    if (Type pin = pins.typeOf(user); pin && category != Precision::Unrounded)
      return !pin.isF32();
    return category == Precision::Low || category == Precision::Widest;
  });
}

DenseSet<StringAttr> halfstep::findLowParameters(ModuleOp module, Pins &pins) {
  DenseSet<StringAttr> low;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, attr::kParameter);
          name && isReadNarrow(function.getArgument(i), pins))
        low.insert(name);
  return low;
}

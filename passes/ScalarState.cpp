//===- ScalarState.cpp - Numbers that programs keep -----------------------===//

#include "passes/ScalarState.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace halfstep;

ScalarState halfstep::scalarStateOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto program = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  auto name =
      program ? program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), train::attr::kState)
              : StringAttr();
  if (!name || cast<ShapedType>(argument.getType()).getNumElements() != 1)
    return ScalarState::None;
  for (unsigned result = 0; result < program.getNumResults(); ++result)
    if (program.getResultAttr(result, train::attr::kUpdates) == name)
      return ScalarState::Updated;
  return ScalarState::Kept;
}

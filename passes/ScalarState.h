//===- ScalarState.h - Numbers that programs keep -------------------------===//

#ifndef HALFSTEP_PASSES_SCALARSTATE_H
#define HALFSTEP_PASSES_SCALARSTATE_H

#include "mlir/IR/Value.h"

namespace halfstep {

/// What a program does with a scalar of state (a counter, a hyperparameter, the loss scale).
enum class ScalarState { None, Kept, Updated };

/// `None` for whatever is no such argument of a program.
ScalarState scalarStateOf(mlir::Value value);

} // namespace halfstep

#endif

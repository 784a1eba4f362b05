//===- Reproducer.h - What is left of a fault of ours ---------------------===//

#ifndef HALFSTEP_PASSES_REPRODUCER_H
#define HALFSTEP_PASSES_REPRODUCER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace halfstep {

/// Runs the passes of `pm` on `module`. An error that a pass has about the user's input is emitted
/// as it is. A pass that crashes, that fails without a word or that leaves a module which does not
/// verify is at fault itself: that is one error, with what was said as notes and a file in the
/// folder for temporary ones, which holds the module as it was and the passes.
/// `halfstep-opt --run-reproducer FILE` runs it again.
mlir::LogicalResult runReproducibly(mlir::PassManager &pm, mlir::ModuleOp module);

} // namespace halfstep

#endif

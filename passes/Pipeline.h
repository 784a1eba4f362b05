//===- Pipeline.h - Phases as data ----------------------------------------===//

#ifndef HALFSTEP_PASSES_PIPELINE_H
#define HALFSTEP_PASSES_PIPELINE_H

#include "passes/Recipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <optional>

namespace halfstep {

enum class Phase { Import, Grad, Precision, Update, Kernels, Memory, Emit };

struct PhaseInfo {
  Phase phase;
  llvm::StringLiteral name;
  llvm::StringLiteral help;
  /// Adds the phase's passes and its closing verifier; null for import and emit, which are not
  /// made of passes.
  void (*build)(mlir::OpPassManager &, const Recipe &);
};

/// All phases, in order.
llvm::ArrayRef<PhaseInfo> phases();
std::optional<Phase> phaseNamed(llvm::StringRef name);
const PhaseInfo &info(Phase);

/// The phase that a module has finished (`halfstep.phase`), if it says so.
std::optional<Phase> finishedPhase(mlir::ModuleOp);

/// Runs the phases behind the module's own up to and including `last` (at most Memory). After each,
/// `observe` sees the module. Errors are diagnostics at the ops' locations.
mlir::LogicalResult runPhases(mlir::ModuleOp, const Recipe &, Phase last,
                              llvm::function_ref<void(Phase, mlir::ModuleOp)> observe = {});

/// For halfstep-opt: every pass, and each phase as a pipeline (`--phase-grad=loss=mse ...`).
void registerPassesAndPhases();

} // namespace halfstep

#endif

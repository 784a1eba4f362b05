//===- LossScale.h - The loss scale, in the step --------------------------===//
//
// The loss is multiplied by a scale so that 16-bit adjoints do not vanish, and gradients are
// divided by it in f32. A dynamic scale halves when a gradient overflowed, in which case the update
// is skipped, and doubles after a long run of good steps. All of it is state of the step and
// formulas over it, so that no step waits for the host.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_LOSSSCALE_H
#define HALFSTEP_PASSES_LOSSSCALE_H

#include "ir/TrainDialect.h"
#include "passes/Hyperparameter.h"
#include <functional>

namespace halfstep {

struct LossScale {
  bool scales = false;  // there is a scale, and gradients are checked
  bool dynamic = false; // it adapts
  /// "scale", "max_skips" (after how many skipped updates in a row a run stops) and, if dynamic,
  /// how it adapts.
  std::vector<Hyperparameter> hyperparameters;

  /// The scale and the count of good steps behind an update, from those before it. Of rank 0.
  static std::pair<train::Expr, train::Expr>
  adapt(train::Expr scale, train::Expr growth, train::Expr overflowed,
        const std::function<train::Expr(llvm::StringRef)> &hyperparameter);
};

/// `none`, a number, or `dynamic[:init_scale=65536,growth_factor=2,backoff_factor=0.5,
/// growth_interval=2000,max_skips=20]` (torch.amp.GradScaler's names and defaults, where it has
/// them). Errors are usage errors.
llvm::Expected<LossScale> bindLossScale(llvm::StringRef text);

} // namespace halfstep

#endif

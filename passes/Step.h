//===- Step.h - The parts that build-step puts together -------------------===//

#ifndef HALFSTEP_PASSES_STEP_H
#define HALFSTEP_PASSES_STEP_H

#include "passes/FlatLayout.h"
#include "passes/LossScale.h"
#include "passes/Optimizers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace halfstep {

/// Rows of the metrics ring.
constexpr int64_t kRecordRows = 64;

/// What a step is made of.
struct Step {
  BoundOptimizer optimizer;
  BoundSchedule schedule;
  LossScale lossScale;
  double clipNorm = 0; // 0: none
  int64_t accumulate = 1;
  bool drops = false;                // @micro draws random numbers
  bool roundsStochastically = false; // @update does, for weights of 16 bits
  std::vector<FlatLayout> layouts;

  /// Scalars that are set from outside, with their values at the start.
  std::vector<Hyperparameter> hyperparameters() const;
  /// Scalars that begin at zero.
  std::vector<std::string> counters() const;
  /// Whether the step has a seed: an i64 scalar, set from outside.
  bool isRandom() const { return drops || roundsStochastically; }
  /// Fields of the metrics ring.
  static llvm::ArrayRef<llvm::StringLiteral> records();
};

/// @update: gradient norm, finite check, clipping, schedule, optimizer, loss scale, counters,
/// records.
void buildUpdate(mlir::ModuleOp module, const Step &step);

/// @init: the 16-bit copies of the masters, which are never stored. Nothing where there are none.
void buildInit(mlir::ModuleOp module, const Step &step);

/// One `table.tensor` or `table.region` for everything that has a name. `main` is the function that
/// reads all inputs: @micro, or @infer of a model that is not trained.
void buildDirectory(mlir::ModuleOp module, mlir::func::FuncOp main, const Step &step);

} // namespace halfstep

#endif

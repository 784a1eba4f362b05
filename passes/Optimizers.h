//===- Optimizers.h - Optimizers and schedules by name --------------------===//

#ifndef HALFSTEP_PASSES_OPTIMIZERS_H
#define HALFSTEP_PASSES_OPTIMIZERS_H

#include "ir/TrainDialect.h"
#include "passes/Hyperparameter.h"
#include <functional>

namespace halfstep {

/// The scalars of one update, f64 tensors of rank 0.
struct UpdateScalars {
  std::function<train::Expr(llvm::StringRef)> hyperparameter;
  train::Expr learningRate; // as the schedule has it
  train::Expr step;         // 1 for the first update that is applied
};

/// An optimizer whose options have been read. An update is two formulas: `scalars`, evaluated once
/// in f64, and `elements`, evaluated for every element of the flat parameter space in the
/// parameters' type, which receives those scalars in that type.
struct BoundOptimizer {
  std::vector<Hyperparameter> hyperparameters;
  std::vector<std::string> slots; // PyTorch's state names
  std::function<llvm::SmallVector<train::Expr>(const UpdateScalars &)> scalars;
  /// Gives the new weight, then the new slots.
  std::function<llvm::SmallVector<train::Expr>(
      train::Expr weight, train::Expr gradient, llvm::ArrayRef<train::Expr> slots,
      llvm::ArrayRef<train::Expr> scalars)>
      elements;
};

struct OptimizerInfo {
  llvm::StringLiteral name, help;
  llvm::ArrayRef<SpecKey> keys;
  BoundOptimizer (*bind)(SpecReader &);
};

/// A learning-rate schedule whose options have been read.
struct BoundSchedule {
  bool perEpoch = false; // counts epochs instead of applied updates
  /// The rate at `count` (f64, from 0), given the base rate.
  std::function<train::Expr(train::Expr base, train::Expr count)> rate;
};

struct ScheduleInfo {
  llvm::StringLiteral name, help;
  llvm::ArrayRef<SpecKey> keys;
  BoundSchedule (*bind)(SpecReader &);
};

llvm::ArrayRef<OptimizerInfo> optimizers();
llvm::ArrayRef<ScheduleInfo> schedules();

/// Errors are usage errors.
llvm::Expected<BoundOptimizer> bindOptimizer(const Spec &spec);
llvm::Expected<BoundSchedule> bindSchedule(const Spec &spec);

} // namespace halfstep

#endif

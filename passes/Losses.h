//===- Losses.h - The losses by name --------------------------------------===//

#ifndef HALFSTEP_PASSES_LOSSES_H
#define HALFSTEP_PASSES_LOSSES_H

#include "ir/TrainDialect.h"
#include "passes/Recipe.h"
#include <functional>
#include <optional>

namespace halfstep {

/// What the label of a loss looks like.
struct LabelInfo {
  mlir::RankedTensorType type;
  std::optional<int64_t> classCount;   // class ids lie in [0, classCount)
  std::optional<int64_t> ignoredClass; // or equal this
};

/// A loss whose options have been read and that fits the network's output.
struct BoundLoss {
  std::optional<LabelInfo> label;
  /// The loss of `output`, of rank 0.
  std::function<train::Expr(train::Expr output, train::Expr label)> loss;
  /// Its metrics in evaluation, of rank 0, by name.
  std::function<std::vector<std::pair<std::string, train::Expr>>(train::Expr output,
                                                                train::Expr label)>
      metrics;
};

struct LossInfo {
  llvm::StringLiteral name, help;
  llvm::ArrayRef<SpecKey> keys;
  BoundLoss (*bind)(SpecReader &, mlir::RankedTensorType output);
};

llvm::ArrayRef<LossInfo> losses();

/// Reads `spec` and fits it to the network's output. Errors are usage errors.
llvm::Expected<BoundLoss> bindLoss(const Spec &spec, mlir::RankedTensorType output);

} // namespace halfstep

#endif

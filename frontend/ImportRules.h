//===- ImportRules.h - ONNX ops in terms of train ops ---------------------===//
//
// One table row is one ONNX op from one operator set on. A row holds until the next one of the same
// op; an operator set that changed only types or the place of an argument has no row of its own,
// since the binder reads axes from attribute or operand alike.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_IMPORTRULES_H
#define HALFSTEP_FRONTEND_IMPORTRULES_H

#include "frontend/OpBinder.h"

namespace halfstep {

/// PyTorch's autocast category of the op as it is seen from outside.
enum class RuleCategory { Low, Full, Widest, None };

struct ImportRule {
  llvm::StringLiteral op;
  int64_t since;
  llvm::LogicalResult (*import)(OpBinder &);
  RuleCategory category;
  bool differentiable = true;
  /// Bit i: operand i says something about structure and is read when compiling, never trained.
  unsigned structural = 0;
  /// The op is known when compiling or refused; folding binds it, its rule only refuses.
  bool constantOnly = false;
};

llvm::ArrayRef<ImportRule> elementwiseRules();
llvm::ArrayRef<ImportRule> movementRules();
llvm::ArrayRef<ImportRule> partRules();
llvm::ArrayRef<ImportRule> contractionRules();
llvm::ArrayRef<ImportRule> reductionRules();
llvm::ArrayRef<ImportRule> windowRules();
llvm::ArrayRef<ImportRule> normalisationRules();
llvm::ArrayRef<ImportRule> activationRules();

/// `x + bias`, where x is a contraction's result: autocast rounds the bias with it, so that the
/// addition has the contraction's category.
mlir::Value addBias(OpBinder &b, mlir::Value x, mlir::Value bias);

/// `part`, of something delicate: f32 in every mode, whatever its operands.
mlir::Value unrounded(mlir::Value part);

/// All rows.
llvm::ArrayRef<ImportRule> importRules();

/// The row for `op` in operator set `opset`; null when there is none.
const ImportRule *findRule(llvm::StringRef op, int64_t opset);

/// True when `node` is of the standard operator set.
bool isStandardOp(const onnx::NodeProto &node);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_IMPORTRULES_H

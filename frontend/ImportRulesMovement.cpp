//===- ImportRulesMovement.cpp - Reshape, transpose, expand and their kin -===//
//
// Shape, Size, Constant, ConstantOfShape and Range are always known when compiling: folding binds
// them before a rule is asked, so their rows only explain why that was not possible.
//
//===----------------------------------------------------------------------===//

#include "frontend/ImportRules.h"
#include "frontend/ShapeOperands.h"
#include "ir/TrainDialect.h"

using namespace mlir;

namespace halfstep {
namespace {

template <Sizes (*sizesOf)(OpBinder &)> LogicalResult reshaped(OpBinder &b) {
  Sizes sizes = sizesOf(b);
  return failed(sizes) ? failure() : b.bind(0, b.reshape(b.operand(0), *sizes));
}

LogicalResult expand(OpBinder &b) {
  Sizes sizes = expandedSizes(b);
  return failed(sizes) ? failure() : b.bind(0, b.broadcast(b.operand(0), *sizes));
}

LogicalResult transpose(OpBinder &b) {
  RankedTensorType type = b.type(0);
  if (!type)
    return failure();
  Sizes permutation = permutationOf(b, type.getRank());
  if (failed(permutation))
    return failure();
  if (llvm::is_sorted(*permutation)) // in place already
    return b.forward();
  auto attribute = b.scope.builder.getDenseI64ArrayAttr(*permutation);
  return b.bind(0, b.create<train::TransposeOp>(b.operand(0), b.named("permutation", attribute)));
}

LogicalResult unknown(OpBinder &b) {
  return b.error() << "its operands must be known when compiling, and depend on data here";
}

constexpr RuleCategory Widest = RuleCategory::Widest, None = RuleCategory::None;

const ImportRule rules[] = {
    {"Constant", 1, unknown, None, false, 0, true},
    {"ConstantOfShape", 9, unknown, None, false, 0b1, true},
    {"Expand", 8, expand, Widest, true, 0b10},
    {"Flatten", 1, reshaped<flattenedSizes>, Widest},
    {"Range", 11, unknown, None, false, 0b111, true},
    {"Reshape", 5, reshaped<reshapedSizes>, Widest, true, 0b10},
    {"Shape", 1, unknown, None, false, 0b1, true},
    {"Size", 1, unknown, None, false, 0b1, true},
    {"Squeeze", 1, reshaped<squeezedSizes>, Widest, true, 0b10},
    {"Transpose", 1, transpose, Widest},
    {"Unsqueeze", 1, reshaped<unsqueezedSizes>, Widest, true, 0b10},
};

} // namespace

ArrayRef<ImportRule> movementRules() { return rules; }

} // namespace halfstep

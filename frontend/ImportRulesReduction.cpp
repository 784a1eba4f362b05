//===- ImportRulesReduction.cpp - Reductions and softmax ------------------===//

#include "frontend/ImportRules.h"
#include "frontend/ShapeOperands.h"
#include "ir/TrainDialect.h"

using namespace mlir;

namespace halfstep {
namespace {

Value same(OpBinder &, Value x) { return x; }
/// In f32 whatever x is, as a part of the reduction: the square of 300 is no f16 number.
Value square(OpBinder &b, Value x) { return unrounded(b.create<train::MulOp>({x, x})); }
Value absolute(OpBinder &b, Value x) { return unrounded(b.create<train::AbsOp>(x)); }
Value logarithm(OpBinder &b, Value x) { return b.create<train::LogOp>(x); }

/// train reductions keep reduced axes with size 1; without keepdims a reshape drops them.
template <typename Op, Value (*prepare)(OpBinder &, Value) = same,
          Value (*finish)(OpBinder &, Value) = same>
LogicalResult reduction(OpBinder &b) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  if (!isa<FloatType>(getElementTypeOrSelf(x)))
    return b.error() << "reduces integers that depend on data, which is not supported";
  Sizes axes = reducedAxes(b, sizesOf(x).size());
  if (failed(axes))
    return failure();
  SmallVector<int64_t> sizes;
  for (auto [d, size] : llvm::enumerate(sizesOf(x)))
    if (!llvm::is_contained(*axes, int64_t(d)))
      sizes.push_back(size);
    else if (b.integer("keepdims", 1))
      sizes.push_back(1);
  Value result = prepare(b, x);
  // Over no axes each but the norm of a number is that number.
  if (!axes->empty() || std::is_same_v<Op, train::NormOp>)
    result = b.create<Op>(result, b.named("axes", b.scope.builder.getDenseI64ArrayAttr(*axes)));
  return b.bind(0, b.reshape(finish(b, result), sizes));
}

template <typename Op> Value alongAxis(OpBinder &b, Value x, int64_t axis) {
  return b.create<Op>(x, b.named("axis", b.scope.builder.getI64IntegerAttr(axis)));
}

/// Since operator set 13: along one axis, the last by default.
template <typename Op> LogicalResult softmax(OpBinder &b) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", -1), sizesOf(x).size());
  return failed(axis) ? failure() : b.bind(0, alongAxis<Op>(b, x, *axis));
}

/// Before operator set 13: over all dimensions from `axis` on, 1 by default.
template <typename Op> LogicalResult softmaxOfFlattened(OpBinder &b) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> sizes = sizesOf(x);
  int64_t rank = sizes.size(), axis = b.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return b.error() << "axis " << axis << " is not a dimension of a tensor of rank " << rank;
  axis = axis < 0 ? axis + rank : axis;
  if (axis + 1 == rank)
    return b.bind(0, alongAxis<Op>(b, x, axis));
  Value flat =
      b.reshape(x, {*elementCount(sizes.take_front(axis)), *elementCount(sizes.drop_front(axis))});
  return b.bind(0, b.reshape(alongAxis<Op>(b, flat, 1), sizes));
}

constexpr RuleCategory Full = RuleCategory::Full, Widest = RuleCategory::Widest;

const ImportRule rules[] = {
    {"LogSoftmax", 1, softmaxOfFlattened<train::LogSoftmaxOp>, Full},
    {"LogSoftmax", 13, softmax<train::LogSoftmaxOp>, Full},
    {"ReduceL1", 1, reduction<train::SumOp, absolute>, Full, true, 0b10},
    {"ReduceL2", 1, reduction<train::NormOp>, Full, true, 0b10},
    {"ReduceLogSum", 1, reduction<train::SumOp, same, logarithm>, Full, true, 0b10},
    {"ReduceLogSumExp", 1, reduction<train::LogSumExpOp>, Full, true, 0b10},
    {"ReduceMax", 1, reduction<train::MaxOp>, Widest, true, 0b10},
    {"ReduceMean", 1, reduction<train::MeanOp>, Widest, true, 0b10},
    {"ReduceMin", 1, reduction<train::MinOp>, Widest, true, 0b10},
    {"ReduceSum", 1, reduction<train::SumOp>, Full, true, 0b10},
    {"ReduceSumSquare", 1, reduction<train::SumOp, square>, Full, true, 0b10},
    {"Softmax", 1, softmaxOfFlattened<train::SoftmaxOp>, Full},
    {"Softmax", 13, softmax<train::SoftmaxOp>, Full},
};

} // namespace

ArrayRef<ImportRule> reductionRules() { return rules; }

} // namespace halfstep

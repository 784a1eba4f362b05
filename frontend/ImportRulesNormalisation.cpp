//===- ImportRulesNormalisation.cpp - Norms -------------------------------===//
//
// Layer, group and instance normalisation are one train op over other axes, on a view in which the
// axes are dimensions of their own. Scale and bias are operands of that op: it rounds once, where
// ONNX's definition rounds to the data's type before the scale and after it.
//
//===----------------------------------------------------------------------===//

#include "frontend/ImportRules.h"
#include "frontend/ShapeOperands.h"
#include "ir/TrainDialect.h"

using namespace mlir;

namespace halfstep {
namespace {

/// Operands `first` to `last`, floats, in one type: different ones meet in f32, or f64 if one is.
FailureOr<SmallVector<Value>> floats(OpBinder &b, unsigned first, unsigned last) {
  SmallVector<Value> values;
  Type common;
  for (unsigned i = first; i <= last; ++i) {
    Value value = b.operand(i);
    if (!value)
      return failure();
    Type element = getElementTypeOrSelf(value);
    if (!isa<FloatType>(element))
      return b.error() << "is supported on floats only, not on " << value.getType();
    if (common && element != common)
      element = element.isF64() || common.isF64() ? Type(b.scope.builder.getF64Type())
                                                  : Type(b.scope.builder.getF32Type());
    common = element;
    values.push_back(value);
  }
  for (Value &value : values)
    value = b.convert(value, common);
  return values;
}

/// Statistics are computed in f32, in f64 for f64: that is stash_type 1.
LogicalResult checkStashType(OpBinder &b) {
  int64_t type = b.integer("stash_type", onnx::TensorProto::FLOAT);
  if (type == onnx::TensorProto::FLOAT)
    return success();
  return b.error() << "has stash_type " << type
                   << ", but its statistics are computed in f32: only stash_type 1 is supported";
}

SmallVector<NamedAttribute> normAttributes(OpBinder &b, ArrayRef<int64_t> axes, double epsilon) {
  Builder &builder = b.scope.builder;
  return {b.named("axes", builder.getDenseI64ArrayAttr(axes)),
          b.named("epsilon", builder.getF64FloatAttr(epsilon))};
}

double epsilonOf(OpBinder &b) { return b.number("epsilon", 1e-5); }

/// Mean and 1 / sqrt(variance + epsilon) of layer normalisation, where a model asks for them: in
/// f32 (stash_type 1), parts included.
LogicalResult bindStatistics(OpBinder &b, Value x, ArrayRef<int64_t> axes) {
  Builder &builder = b.scope.builder;
  NamedAttribute over = b.named("axes", builder.getDenseI64ArrayAttr(axes));
  Type f32 = builder.getF32Type();
  if (!getElementTypeOrSelf(x).isF64())
    x = b.convert(x, f32);
  auto average = [&](Value each) { return unrounded(b.create<train::MeanOp>(each, over)); };
  Value first = average(x); // corrected, as the norm's own (ir/NormalisationOps.cpp)
  Value rest = average(unrounded(b.create<train::SubOp>({x, first})));
  Value mean = unrounded(b.create<train::AddOp>({first, rest}));
  if (b.uses(1) && failed(b.bind(1, b.convert(mean, f32))))
    return failure();
  if (!b.uses(2))
    return success();
  Value deviation = unrounded(b.create<train::SubOp>({x, mean}));
  Value square = unrounded(b.create<train::MulOp>({deviation, deviation}));
  Value variance = average(square);
  Value moved = unrounded(b.create<train::AddOp>({variance, b.scalar(variance, epsilonOf(b))}));
  return b.bind(2, b.convert(unrounded(b.create<train::RsqrtOp>(moved)), f32));
}

LogicalResult layerNorm(OpBinder &b) {
  FailureOr<SmallVector<Value>> operands = floats(b, 0, b.has(2) ? 2 : 1);
  if (failed(operands) || failed(checkStashType(b)))
    return failure();
  Value x = (*operands)[0], scale = (*operands)[1];
  Value bias = b.has(2) ? (*operands)[2] : b.scalar(x, 0.0);
  int64_t rank = sizesOf(x).size();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", -1), rank);
  if (failed(axis))
    return failure();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(*axis, rank));
  Value y = b.create<train::NormaliseOp>({x, scale, bias}, normAttributes(b, axes, epsilonOf(b)));
  if (failed(b.bind(0, y)))
    return failure();
  return b.uses(1) || b.uses(2) ? bindStatistics(b, x, axes) : success();
}

LogicalResult rmsNorm(OpBinder &b) {
  FailureOr<SmallVector<Value>> operands = floats(b, 0, 1);
  if (failed(operands) || failed(checkStashType(b)))
    return failure();
  int64_t rank = sizesOf(operands->front()).size();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", -1), rank);
  if (failed(axis))
    return failure();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(*axis, rank));
  Value y = b.create<train::RmsNormaliseOp>(*operands, normAttributes(b, axes, epsilonOf(b)));
  return b.bind(0, y);
}

/// `x` seen as `view`, normalised over all its dimensions from the third on. Scale and bias have an
/// element for each of the `count` places of the dimensions 1 and, `perChannel`, 2 of the view.
Value normaliseView(OpBinder &b, ArrayRef<Value> operands, ArrayRef<int64_t> view, int64_t count,
                    bool perChannel) {
  for (Value parameter : operands.drop_front())
    if (sizesOf(parameter) != ArrayRef(count)) {
      b.error() << "needs a scale and a bias of " << count << " elements, not "
                << parameter.getType();
      return {};
    }
  SmallVector<int64_t> sizes(view.size() - 1, 1);
  sizes[0] = view[1];
  if (perChannel)
    sizes[1] = view[2];
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, view.size()));
  return b.create<train::NormaliseOp>(
      {b.reshape(operands[0], view), b.reshape(operands[1], sizes), b.reshape(operands[2], sizes)},
      normAttributes(b, axes, epsilonOf(b)));
}

LogicalResult checkSpatial(OpBinder &b, Value x) {
  if (sizesOf(x).size() >= 3)
    return success();
  return b.error() << "needs an operand of rank 3 or more (batch, channels, sizes), not "
                   << x.getType();
}

/// As in PyTorch, alone of these norms, autocast leaves the result in the type of the operand.
LogicalResult instanceNorm(OpBinder &b) {
  FailureOr<SmallVector<Value>> operands = floats(b, 0, 2);
  if (failed(operands) || failed(checkSpatial(b, operands->front())))
    return failure();
  ArrayRef<int64_t> sizes = sizesOf(operands->front());
  Value y = normaliseView(b, *operands, sizes, sizes[1], /*perChannel=*/false);
  if (y)
    train::setCategory(y.getDefiningOp(), train::Precision::Mixed);
  return b.bind(0, y);
}

/// Operator set 18 has a scale and a bias for each group, 21 for each channel.
template <bool perChannel> LogicalResult groupNorm(OpBinder &b) {
  FailureOr<SmallVector<Value>> operands = floats(b, 0, 2);
  if (failed(operands) || failed(checkStashType(b)) || failed(checkSpatial(b, operands->front())))
    return failure();
  ArrayRef<int64_t> sizes = sizesOf(operands->front());
  int64_t groups = b.integer("num_groups", 0), channels = sizes[1];
  if (groups < 1 || channels % groups)
    return b.error() << "has " << channels << " channels, which do not divide into " << groups
                     << " groups";
  SmallVector<int64_t> view{sizes[0], groups, channels / groups};
  llvm::append_range(view, sizes.drop_front(2));
  Value y = normaliseView(b, *operands, view, perChannel ? channels : groups, perChannel);
  return b.bind(0, b.reshape(y, sizes));
}

/// ONNX adds 1e-9 to the standard deviation; its square under the root differs only in rounding.
LogicalResult meanVarianceNorm(OpBinder &b) {
  FailureOr<SmallVector<Value>> x = floats(b, 0, 0);
  auto named = b.attributeOrOperand("axes", 1);
  if (failed(x) || failed(named))
    return failure();
  Value value = x->front();
  FailureOr<SmallVector<int64_t>> axes =
      b.axes(*named ? **named : SmallVector<int64_t>{0, 2, 3}, sizesOf(value).size());
  if (failed(axes))
    return failure();
  return b.bind(0, b.create<train::NormaliseOp>({value, b.scalar(value, 1.0), b.scalar(value, 0.0)},
                                                normAttributes(b, *axes, /*epsilon=*/1e-18)));
}

/// x / norm(x), and 0 where the norm is 0.
LogicalResult lpNorm(OpBinder &b) {
  FailureOr<SmallVector<Value>> operand = floats(b, 0, 0);
  if (failed(operand))
    return failure();
  Value x = operand->front();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", -1), sizesOf(x).size());
  int64_t p = b.integer("p", 2);
  if (failed(axis))
    return failure();
  if (p != 1 && p != 2)
    return b.error() << "has p = " << p << "; ONNX defines 1 and 2";
  NamedAttribute over = b.named("axes", b.scope.builder.getDenseI64ArrayAttr(*axis));
  Value norm =
      unrounded(p == 2 ? b.create<train::NormOp>(x, over)
                       : b.create<train::SumOp>(unrounded(b.create<train::AbsOp>(x)), over));
  auto equal = train::ComparisonAttr::get(b.loc.getContext(), train::Comparison::Equal);
  Value isZero = unrounded(
      b.create<train::CompareOp>({norm, b.scalar(norm, 0.0)}, b.named("predicate", equal)));
  Value divisor = unrounded(b.create<train::SelectOp>({isZero, b.scalar(norm, 1.0), norm}));
  Value y = b.create<train::DivOp>({x, divisor});
  train::setCategory(y.getDefiningOp(), train::Precision::Full);
  return b.bind(0, y);
}

/// With the statistics that the file holds, which stay as they are.
LogicalResult batchNorm(OpBinder &b) {
  bool trains = b.integer("training_mode", 0);
  for (unsigned i = 1; i < 5; ++i)
    trains |= b.uses(i);
  if (trains)
    return b.error() << "normalises with the statistics of each batch (training_mode=1), which is "
                        "not supported: export it with its running statistics (BatchNorm modules "
                        "in eval(), training=TrainingMode.PRESERVE), or use a layer, group or "
                        "instance norm";
  if (!b.integer("spatial", 1))
    return b.error() << "has spatial=0, statistics for every element, which is not supported";
  b.keepConstant(3);
  b.keepConstant(4);
  FailureOr<SmallVector<Value>> operands = floats(b, 0, 4);
  if (failed(operands))
    return failure();
  Value x = operands->front();
  if (sizesOf(x).size() < 2)
    return b.error() << "needs an operand of rank 2 or more (batch, channels), not " << x.getType();
  SmallVector<int64_t> sizes(sizesOf(x).size() - 1, 1);
  sizes[0] = sizesOf(x)[1];
  for (Value &parameter : MutableArrayRef(*operands).drop_front()) {
    if (sizesOf(parameter) != ArrayRef(sizes[0]))
      return b.error() << "needs scale, bias, mean and variance of " << sizes[0]
                       << " elements, not " << parameter.getType();
    parameter = b.reshape(parameter, sizes);
  }
  emitWarning(b.loc) << "this BatchNormalization is in its inference form: its mean and variance "
                        "stay as they are in training";
  auto epsilon = b.named("epsilon", b.scope.builder.getF64FloatAttr(epsilonOf(b)));
  return b.bind(
      0, b.convert(b.create<train::BatchNormOp>(*operands, epsilon), b.type(0).getElementType()));
}

constexpr RuleCategory Full = RuleCategory::Full, Widest = RuleCategory::Widest;

const ImportRule rules[] = {
    {"BatchNormalization", 7, batchNorm, Widest},
    {"GroupNormalization", 18, groupNorm</*perChannel=*/false>, Full},
    {"GroupNormalization", 21, groupNorm</*perChannel=*/true>, Full},
    {"InstanceNormalization", 6, instanceNorm, Widest},
    {"LayerNormalization", 17, layerNorm, Full},
    {"LpNormalization", 1, lpNorm, Full},
    {"MeanVarianceNormalization", 9, meanVarianceNorm, Full},
    {"RMSNormalization", 23, rmsNorm, Full},
};

} // namespace

ArrayRef<ImportRule> normalisationRules() { return rules; }

} // namespace halfstep

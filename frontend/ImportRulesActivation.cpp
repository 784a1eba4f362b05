//===- ImportRulesActivation.cpp - Activations and Clip -------------------===//

#include "frontend/ImportRules.h"
#include "ir/TrainDialect.h"

#include <limits>

using namespace mlir;

namespace halfstep {
namespace {

/// Operand 0, a float tensor; null after a report.
Value floatOperand(OpBinder &b) {
  Value x = b.operand(0);
  if (!x || isa<FloatType>(getElementTypeOrSelf(x)))
    return x;
  b.error() << "computes with integers that depend on data, which is not supported";
  return {};
}

/// `Op` with numbers as attributes.
template <typename Op>
LogicalResult activation(OpBinder &b, ArrayRef<std::pair<StringRef, double>> numbers = {}) {
  Value x = floatOperand(b);
  auto attributes = llvm::map_to_vector(numbers, [&](const auto &number) {
    return b.named(number.first, b.scope.builder.getF64FloatAttr(number.second));
  });
  return b.bind(0, b.create<Op>(x, attributes));
}

template <typename Op> LogicalResult plain(OpBinder &b) { return activation<Op>(b); }

LogicalResult elu(OpBinder &b, double alpha, double scale, double inputScale) {
  return activation<train::EluOp>(b,
                                  {{"alpha", alpha}, {"scale", scale}, {"inputScale", inputScale}});
}
LogicalResult eluNode(OpBinder &b) { return elu(b, b.number("alpha", 1.0), 1.0, 1.0); }
LogicalResult seluNode(OpBinder &b) {
  return elu(b, b.number("alpha", 1.67326319217681884765625),
             b.number("gamma", 1.05070102214813232421875), 1.0);
}
LogicalResult celuNode(OpBinder &b) {
  double alpha = b.number("alpha", 1.0);
  if (alpha == 0)
    return b.error() << "divides by its alpha, which is 0";
  return elu(b, alpha, 1.0, 1.0 / alpha);
}

LogicalResult hardSigmoid(OpBinder &b) {
  return activation<train::HardSigmoidOp>(
      b, {{"alpha", b.number("alpha", 0.2)}, {"beta", b.number("beta", 0.5)}});
}

LogicalResult shrink(OpBinder &b) {
  return activation<train::ShrinkOp>(
      b, {{"bound", b.number("lambd", 0.5)}, {"bias", b.number("bias", 0.0)}});
}

LogicalResult swish(OpBinder &b) {
  return activation<train::SwishOp>(b, {{"alpha", b.number("alpha", 1.0)}});
}

LogicalResult gelu(OpBinder &b) {
  const onnx::AttributeProto *found = b.attribute("approximate");
  std::string approximate = found ? found->s() : "none";
  if (approximate == "tanh")
    return activation<train::GeluTanhOp>(b);
  if (approximate == "none")
    return activation<train::GeluOp>(b);
  return b.error() << "has an approximation '" << approximate << "', which ONNX does not know";
}

LogicalResult leakyRelu(OpBinder &b) {
  Value x = floatOperand(b);
  if (!x)
    return failure();
  return b.bind(0, b.create<train::LeakyReluOp>({x, b.scalar(x, b.number("alpha", 0.01))}));
}

/// As in PyTorch's lists, the one activation that autocast computes in 16 bits.
LogicalResult prelu(OpBinder &b) {
  Value x = floatOperand(b);
  FailureOr<SmallVector<Value>> operands = b.numbers();
  if (!x || failed(operands))
    return failure();
  Value y = b.create<train::LeakyReluOp>(*operands);
  if (!y)
    return failure();
  if (sizesOf(y) != sizesOf(x))
    return b.error() << "has a slope, " << (*operands)[1].getType()
                     << ", that does not broadcast to " << x.getType();
  train::setCategory(y.getDefiningOp(), train::Precision::Low);
  return b.bind(0, y);
}

LogicalResult thresholdedRelu(OpBinder &b) {
  Value x = floatOperand(b);
  if (!x)
    return failure();
  auto greater = train::ComparisonAttr::get(b.loc.getContext(), train::Comparison::Greater);
  Value isAbove = b.create<train::CompareOp>({x, b.scalar(x, b.number("alpha", 1.0))},
                                             b.named("predicate", greater));
  return b.bind(0, b.create<train::SelectOp>({isAbove, x, b.scalar(x, 0.0)}));
}

/// Bounds are attributes before operator set 11 and may be absent. They are numbers of the formula,
/// though exporters write them as weights.
LogicalResult clip(OpBinder &b) {
  b.keepConstant(1);
  b.keepConstant(2);
  Value x = b.operand(0);
  if (!x)
    return failure();
  Type element = getElementTypeOrSelf(x);
  bool isFloat = isa<FloatType>(element);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto bound = [&](unsigned i, StringRef name, double otherwise) -> Value {
    if (b.has(i))
      return b.operand(i);
    return isFloat ? b.scalar(x, b.number(name, otherwise)) : Value();
  };
  Value low = bound(1, "min", -infinity), high = bound(2, "max", infinity);
  for (Value each : {low, high})
    if (each && (getElementTypeOrSelf(each) != element || !sizesOf(each).empty()))
      return b.error() << "has a bound of type " << each.getType() << ", not one " << element;
  if (isFloat)
    return b.bind(0, b.create<train::ClipOp>({x, low, high}));
  if (low)
    x = b.create<train::MaximumOp>({x, low});
  if (high)
    x = b.create<train::MinimumOp>({x, high});
  return b.bind(0, x);
}

constexpr RuleCategory Low = RuleCategory::Low, Full = RuleCategory::Full,
                       Widest = RuleCategory::Widest;

const ImportRule rules[] = {
    {"Celu", 12, celuNode, Widest},
    {"Clip", 6, clip, Widest},
    {"Elu", 6, eluNode, Widest},
    {"Gelu", 20, gelu, Widest},
    {"HardSigmoid", 6, hardSigmoid, Widest},
    {"HardSwish", 14, plain<train::HardSwishOp>, Widest},
    {"LeakyRelu", 6, leakyRelu, Widest},
    {"Mish", 18, plain<train::MishOp>, Widest},
    {"PRelu", 7, prelu, Low},
    {"Selu", 6, seluNode, Widest},
    {"Shrink", 9, shrink, Widest},
    {"Softplus", 1, plain<train::SoftplusOp>, Full},
    {"Softsign", 1, plain<train::SoftsignOp>, Widest},
    {"Swish", 24, swish, Widest},
    {"ThresholdedRelu", 10, thresholdedRelu, Widest},
};

} // namespace

ArrayRef<ImportRule> activationRules() { return rules; }

} // namespace halfstep

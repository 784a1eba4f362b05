//===- ImportRulesElementwise.cpp - Arithmetic, comparisons, selection ----===//

#include "frontend/ImportRules.h"
#include "frontend/TensorProto.h"
#include "ir/TrainDialect.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;

namespace halfstep {
namespace {

enum Accepts { Floats, Numbers };

/// One train op on operands of one type.
template <typename Op, Accepts accepts = Floats> LogicalResult elementwise(OpBinder &b) {
  FailureOr<SmallVector<Value>> x = b.numbers();
  if (failed(x))
    return failure();
  if (accepts == Floats && !isa<FloatType>(getElementTypeOrSelf(x->front())))
    return b.error() << "computes with integers that depend on data, which is not supported";
  return b.bind(0, b.create<Op>(*x));
}

/// Any number of operands, folded from the left.
template <typename Op> Value fold(OpBinder &b, ArrayRef<Value> operands) {
  Value result = operands.front();
  for (Value next : operands.drop_front())
    if (result)
      result = b.create<Op>({result, next});
  return result;
}

template <typename Op> LogicalResult variadic(OpBinder &b) {
  FailureOr<SmallVector<Value>> x = b.numbers();
  return failed(x) ? failure() : b.bind(0, fold<Op>(b, *x));
}

LogicalResult mean(OpBinder &b) {
  FailureOr<SmallVector<Value>> x = b.numbers();
  if (failed(x))
    return failure();
  Value sum = fold<train::AddOp>(b, *x);
  if (!sum || x->size() == 1)
    return b.bind(0, sum);
  return b.bind(0, b.create<train::DivOp>({sum, b.scalar(sum, double(x->size()))}));
}

/// The one quotient that autocast computes in f32: 1 / x overflows where x does not.
LogicalResult reciprocal(OpBinder &b) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  Value quotient = b.create<train::DivOp>({b.scalar(x, 1.0), x});
  train::setCategory(quotient.getDefiningOp(), train::Precision::Full);
  return b.bind(0, quotient);
}

/// The exponent may have a type of its own; the result has the base's.
LogicalResult power(OpBinder &b) {
  Value base = b.operand(0), exponent = b.operand(1);
  if (!base || !exponent)
    return failure();
  Type element = getElementTypeOrSelf(base);
  if (!isa<FloatType>(element))
    return b.error() << "raises integers that depend on data, which is not supported";
  return b.bind(0, b.create<train::PowOp>({base, b.convert(exponent, element)}));
}

template <train::Comparison predicate> LogicalResult comparison(OpBinder &b) {
  FailureOr<SmallVector<Value>> x = b.operands();
  if (failed(x))
    return failure();
  if (x->size() != 2 || getElementTypeOrSelf((*x)[0]) != getElementTypeOrSelf((*x)[1]))
    return b.error() << "needs two operands of one type";
  // Booleans compare as numbers do.
  Type element = getElementTypeOrSelf(x->front());
  if (element.isInteger(1))
    for (Value &each : *x)
      each = b.convert(each, b.scope.builder.getI8Type());
  auto attribute = train::ComparisonAttr::get(b.loc.getContext(), predicate);
  return b.bind(0, b.create<train::CompareOp>(*x, b.named("predicate", attribute)));
}

/// Of booleans: whether they differ.
LogicalResult exclusiveOr(OpBinder &b) {
  RankedTensorType type = b.type(0);
  if (type && !type.getElementType().isInteger(1))
    return b.error() << "needs boolean operands";
  return type ? comparison<train::Comparison::NotEqual>(b) : failure();
}

LogicalResult ceil(OpBinder &b) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  if (!isa<FloatType>(getElementTypeOrSelf(x)))
    return b.error() << "computes with integers that depend on data, which is not supported";
  return b.bind(0, b.create<train::NegOp>(b.create<train::FloorOp>(b.create<train::NegOp>(x))));
}

template <typename Op> LogicalResult logical(OpBinder &b) {
  FailureOr<SmallVector<Value>> x = b.operands();
  if (failed(x))
    return failure();
  for (Value each : *x)
    if (!getElementTypeOrSelf(each).isInteger(1))
      return b.error() << "needs boolean operands";
  return b.bind(0, b.create<Op>(*x));
}

LogicalResult where(OpBinder &b) {
  Value condition = b.operand(0), x = b.operand(1), y = b.operand(2);
  if (!condition || !x || !y)
    return failure();
  if (!getElementTypeOrSelf(condition).isInteger(1) ||
      getElementTypeOrSelf(x) != getElementTypeOrSelf(y))
    return b.error() << "needs a boolean condition and two operands of one type";
  return b.bind(0, b.create<train::SelectOp>({condition, x, y}));
}

LogicalResult castNode(OpBinder &b) {
  Type to = elementType(b.loc.getContext(), int(b.integer("to", 0)));
  if (!to || !isComputeType(to))
    return b.error() << "casts to " << onnxTypeName(int(b.integer("to", 0)))
                     << ", which is not supported";
  return b.bind(0, b.convert(b.operand(0), to));
}

LogicalResult castLike(OpBinder &b) {
  RankedTensorType like = b.type(1);
  if (!like)
    return failure();
  if (!isComputeType(like.getElementType()))
    return b.error() << "casts to " << like.getElementType() << ", which is not supported";
  return b.bind(0, b.convert(b.operand(0), like.getElementType()));
}

LogicalResult identity(OpBinder &b) { return b.forward(); }

/// Drops in training; what evaluates the model leaves it out.
LogicalResult trainingDropout(OpBinder &b, double ratio) {
  Value x = b.operand(0);
  if (!x || !isa<FloatType>(getElementTypeOrSelf(x)))
    return b.error() << "drops elements of a tensor that is not of floats";
  if (b.attribute("seed"))
    emitWarning(b.loc) << "its seed is not used: the option --seed decides all random numbers";
  Builder &attributes = b.scope.builder;
  NamedAttribute ratioAttribute = b.named("ratio", attributes.getF64FloatAttr(ratio));
  Value bits = b.create<train::RandomBitsOp>(
      {}, {b.named("stream", attributes.getI32IntegerAttr(b.scope.streams++)),
           b.named("sizes", attributes.getDenseI64ArrayAttr(sizesOf(x)))});
  if (failed(b.bind(0, b.create<train::DropoutOp>({x, bits}, ratioAttribute))))
    return failure();
  return b.uses(1) ? b.bind(1, b.create<train::DropoutMaskOp>(bits, ratioAttribute)) : success();
}

/// The inference form is the identity, as is a ratio of 0.
LogicalResult dropout(OpBinder &b) {
  RankedTensorType type = b.type(0);
  if (!type)
    return failure();
  auto scalarOperand = [&](unsigned i, double otherwise) -> FailureOr<double> {
    if (!b.has(i))
      return otherwise;
    DenseElementsAttr constant = b.constant(i);
    if (!constant || constant.getNumElements() != 1)
      return b.error() << "operand " << i << " ('" << b.node.input(i)
                       << "') must be one number that is known when compiling";
    if (constant.getElementType().isInteger(1))
      return constant.getSplatValue<bool>() ? 1.0 : 0.0;
    if (!isa<FloatType>(constant.getElementType()))
      return b.error() << "its ratio is not a float";
    return constant.getSplatValue<APFloat>().convertToDouble();
  };
  FailureOr<double> ratio = scalarOperand(1, b.number("ratio", 0.5)),
                    training = scalarOperand(2, 0.0);
  if (failed(ratio) || failed(training))
    return failure();
  if (!(*ratio >= 0 && *ratio <= 1)) {
    SmallString<16> text;
    APFloat(*ratio).toString(text, /*FormatPrecision=*/6);
    return b.error() << "its ratio is " << text << ", which is no probability";
  }
  if (*training != 0 && *ratio != 0)
    return trainingDropout(b, *ratio);
  if (*ratio != 0) {
    auto warning = emitWarning(b.loc)
                   << "this Dropout is in its inference form: nothing is dropped in training";
    warning.attachNote() << "help: export the model in training mode "
                            "(training=torch.onnx.TrainingMode.TRAINING)";
  }

  // The mask's type is bool, or the data's where the operator set is older than 10.
  auto mask = b.opset < 10 ? RankedTensorType::get(type.getShape(), type.getElementType())
                           : RankedTensorType::get(type.getShape(), b.scope.builder.getI1Type());
  Attribute one = b.scope.builder.getOneAttr(mask.getElementType());
  return success(succeeded(b.forward()) && succeeded(b.bind(1, DenseElementsAttr::get(mask, one))));
}

constexpr RuleCategory Full = RuleCategory::Full, Widest = RuleCategory::Widest,
                       None = RuleCategory::None;
using train::Comparison;

const ImportRule rules[] = {
    {"Abs", 6, elementwise<train::AbsOp, Numbers>, Widest},
    {"Add", 7, elementwise<train::AddOp, Numbers>, Widest},
    {"And", 7, logical<train::LogicalAndOp>, None, false},
    {"Cast", 6, castNode, Widest},
    {"CastLike", 15, castLike, Widest},
    {"Ceil", 6, ceil, Widest, false},
    {"Cos", 7, elementwise<train::CosOp>, Widest},
    {"Div", 7, elementwise<train::DivOp>, Widest},
    {"Dropout", 7, dropout, Widest, true, 0b110},
    {"Equal", 7, comparison<Comparison::Equal>, None, false},
    {"Erf", 9, elementwise<train::ErfOp>, Widest},
    {"Exp", 6, elementwise<train::ExpOp>, Full},
    {"Floor", 6, elementwise<train::FloorOp>, Widest, false},
    {"Greater", 7, comparison<Comparison::Greater>, None, false},
    {"GreaterOrEqual", 12, comparison<Comparison::GreaterEqual>, None, false},
    {"Identity", 1, identity, Widest},
    {"Less", 7, comparison<Comparison::Less>, None, false},
    {"LessOrEqual", 12, comparison<Comparison::LessEqual>, None, false},
    {"Log", 6, elementwise<train::LogOp>, Full},
    {"Max", 6, variadic<train::MaximumOp>, Widest},
    {"Mean", 6, mean, Widest},
    {"Min", 6, variadic<train::MinimumOp>, Widest},
    {"Mul", 7, elementwise<train::MulOp, Numbers>, Widest},
    {"Neg", 6, elementwise<train::NegOp, Numbers>, Widest},
    {"Not", 1, logical<train::LogicalNotOp>, None, false},
    {"Or", 7, logical<train::LogicalOrOp>, None, false},
    {"Pow", 7, power, Full},
    {"Reciprocal", 6, reciprocal, Full},
    {"Relu", 6, elementwise<train::ReluOp>, Widest},
    {"Round", 11, elementwise<train::RoundOp>, Widest, false},
    {"Sigmoid", 6, elementwise<train::SigmoidOp>, Widest},
    {"Sign", 9, elementwise<train::SignOp, Numbers>, Widest, false},
    {"Sin", 7, elementwise<train::SinOp>, Widest},
    {"Sqrt", 6, elementwise<train::SqrtOp>, Widest},
    {"Sub", 7, elementwise<train::SubOp, Numbers>, Widest},
    {"Sum", 6, variadic<train::AddOp>, Widest},
    {"Tanh", 6, elementwise<train::TanhOp>, Widest},
    {"Where", 9, where, Widest},
    {"Xor", 7, exclusiveOr, None, false},
};

} // namespace

ArrayRef<ImportRule> elementwiseRules() { return rules; }

} // namespace halfstep

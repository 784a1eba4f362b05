//===- FoldElementwise.cpp - Arithmetic, comparison, casts ----------------===//
//
// Integers are computed in 64 bits and wrap; floats in double, rounded once to their type, which is
// exact rounding for + - * / and sqrt of narrower types.
//
//===----------------------------------------------------------------------===//

#include "frontend/FoldElements.h"
#include "frontend/TensorProto.h"
#include "ir/Shape.h"
#include "llvm/ADT/APSInt.h"

#include <cmath>
#include <functional>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::fold;

namespace {

/// Broadcasts the operands and applies `function` element by element; on one element when each
/// operand is one number repeated.
template <typename T, typename Function>
Folded mapElements(OpBinder &b, ArrayRef<DenseElementsAttr> operands, Type element,
                   Function function) {
  train::ShapeBuilder shapes(b.loc, b.node.op_type());
  FailureOr<SmallVector<int64_t>> sizes = shapes.broadcast(llvm::map_to_vector(operands, typeOf));
  if (failed(sizes))
    return failure();
  auto type = RankedTensorType::get(*sizes, element);
  bool splat = llvm::all_of(operands, [](DenseElementsAttr c) { return c.isSplat(); });
  if (!splat && failed(b.reserve(type.getNumElements())))
    return failure();

  SmallVector<SmallVector<T>> numbers;
  SmallVector<SmallVector<int64_t>> sources;
  for (DenseElementsAttr operand : operands) {
    numbers.push_back(elements<T>(operand));
    sources.push_back(splat || operand.isSplat()
                          ? SmallVector<int64_t>()
                          : broadcastOffsets(typeOf(operand).getShape(), *sizes));
  }
  int64_t count = splat ? 1 : type.getNumElements();
  SmallVector<T> result;
  SmallVector<T> arguments(operands.size());
  for (int64_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < operands.size(); ++k)
      arguments[k] = numbers[k][sources[k].empty() ? 0 : sources[k][i]];
    std::optional<T> value = function(ArrayRef<T>(arguments));
    if (!value)
      return b.error() << "divides by zero";
    result.push_back(*value);
  }
  return make<T>(type, result);
}

//===----------------------------------------------------------------------===//
// Functions of two numbers that are not as the standard library has them
//===----------------------------------------------------------------------===//

/// `Function`, of integers modulo 2^64.
template <template <typename> class Function> struct Wrapping {
  int64_t operator()(int64_t x, int64_t y) const {
    return int64_t(Function<uint64_t>()(uint64_t(x), uint64_t(y)));
  }
  double operator()(double x, double y) const { return Function<double>()(x, y); }
};

/// Nothing for integers by zero.
struct Quotient {
  std::optional<int64_t> operator()(int64_t x, int64_t y) const {
    if (y == 0)
      return std::nullopt;
    return y == -1 ? int64_t(0 - uint64_t(x)) : x / y;
  }
  double operator()(double x, double y) const { return x / y; }
};

/// The number that `IsBeyond` the other, or a NaN.
template <template <typename> class IsBeyond> struct Extreme {
  template <typename T> T operator()(T x, T y) const {
    return std::isnan(x) || IsBeyond<T>()(x, y) ? x : y;
  }
};

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Two operands, or for Max and Min any number of them folded from the left.
template <typename Function> Folded foldBinary(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  Type element = operands->front().getElementType();
  if (std::is_same_v<std::invoke_result_t<Function, double, double>, bool>)
    element = b.scope.builder.getI1Type();
  auto apply = [](auto x) {
    return std::optional<typename decltype(x)::value_type>(Function()(x[0], x[1]));
  };
  DenseElementsAttr result = operands->front();
  for (DenseElementsAttr next : ArrayRef(*operands).drop_front()) {
    Folded folded = isFloat(result) ? mapElements<double>(b, {result, next}, element, apply)
                                    : mapElements<int64_t>(b, {result, next}, element, apply);
    if (failed(folded))
      return failure();
    result = *folded;
  }
  return result;
}

template <double (*function)(double)> Folded foldFloat(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  if (!isFloat(x))
    return b.error() << "needs a float operand";
  return mapElements<double>(b, x, x.getElementType(), [](ArrayRef<double> x) {
    return std::optional<double>(function(x[0]));
  });
}

Folded foldNeg(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  if (isFloat(x))
    return mapElements<double>(b, x, x.getElementType(),
                               [](ArrayRef<double> x) { return std::optional<double>(-x[0]); });
  return mapElements<int64_t>(b, x, x.getElementType(), [](ArrayRef<int64_t> x) {
    return std::optional<int64_t>(int64_t(0 - uint64_t(x[0])));
  });
}

template <typename Function> Folded foldLogical(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  if (!operands->front().getElementType().isInteger(1) || operands->size() != 2)
    return b.error() << "needs two boolean operands";
  return mapElements<int64_t>(
      b, *operands, operands->front().getElementType(),
      [](ArrayRef<int64_t> x) { return std::optional<int64_t>(Function()(x[0], x[1])); });
}

Folded foldNot(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  if (!x.getElementType().isInteger(1))
    return b.error() << "needs a boolean operand";
  return mapElements<int64_t>(b, x, x.getElementType(),
                              [](ArrayRef<int64_t> x) { return std::optional<int64_t>(!x[0]); });
}

Folded foldWhere(OpBinder &b) {
  DenseElementsAttr condition = b.constant(0), x = b.constant(1), y = b.constant(2);
  if (!condition.getElementType().isInteger(1) || x.getElementType() != y.getElementType())
    return b.error() << "needs a boolean condition and two operands of one type";
  if (!isFloat(x))
    return mapElements<int64_t>(b, {condition, x, y}, x.getElementType(), [](ArrayRef<int64_t> v) {
      return std::optional<int64_t>(v[0] ? v[1] : v[2]);
    });
  auto asDouble =
      cast<DenseElementsAttr>(condition.mapValues(b.scope.builder.getF64Type(), [](const APInt &c) {
        return APFloat(c.isZero() ? 0.0 : 1.0).bitcastToAPInt();
      }));
  return mapElements<double>(b, {asDouble, x, y}, x.getElementType(), [](ArrayRef<double> v) {
    return std::optional<double>(v[0] != 0 ? v[1] : v[2]);
  });
}

/// Truncation toward zero; what does not fit, which ONNX leaves open, saturates, and NaN becomes 0.
int64_t truncate(double value, Type to) {
  APSInt result(to.getIntOrFloatBitWidth(), to.isUnsignedInteger());
  bool exact;
  APFloat(value).convertToInteger(result, APFloat::rmTowardZero, &exact);
  return result.getExtValue();
}

Folded castTo(OpBinder &b, DenseElementsAttr x, Type to) {
  Type from = x.getElementType();
  if (from == to)
    return x;
  auto type = RankedTensorType::get(typeOf(x).getShape(), to);
  if (!x.isSplat() && failed(b.reserve(type.getNumElements())))
    return failure();
  if (isa<FloatType>(from)) {
    SmallVector<double> numbers = elements<double>(x);
    if (isa<FloatType>(to) || to.isInteger(1))
      return make<double>(type, numbers);
    return make<int64_t>(type,
                         llvm::map_to_vector(numbers, [&](double n) { return truncate(n, to); }));
  }
  SmallVector<int64_t> numbers = elements<int64_t>(x);
  if (isa<IntegerType>(to))
    return make<int64_t>(type, numbers);
  return DenseElementsAttr::get(type, llvm::map_to_vector(numbers, [&](int64_t number) {
                                  APFloat value(cast<FloatType>(to).getFloatSemantics());
                                  value.convertFromAPInt(APInt(64, uint64_t(number)),
                                                         !from.isUnsignedInteger(),
                                                         APFloat::rmNearestTiesToEven);
                                  return value;
                                }));
}

Folded foldCast(OpBinder &b) {
  Type to = elementType(b.loc.getContext(), int(b.integer("to", 0)));
  if (!to)
    return b.error() << "casts to " << onnxTypeName(int(b.integer("to", 0)))
                     << ", which is not supported";
  return castTo(b, b.constant(0), to);
}

Folded foldCastLike(OpBinder &b) {
  return castTo(b, b.constant(0), b.constant(1).getElementType());
}

const Folder folders[] = {
    {"Add", foldBinary<Wrapping<std::plus>>},
    {"And", foldLogical<std::bit_and<>>},
    {"Cast", foldCast},
    {"CastLike", foldCastLike},
    {"Ceil", foldFloat<std::ceil>},
    {"Div", foldBinary<Quotient>},
    {"Equal", foldBinary<std::equal_to<>>},
    {"Floor", foldFloat<std::floor>},
    {"Greater", foldBinary<std::greater<>>},
    {"GreaterOrEqual", foldBinary<std::greater_equal<>>},
    {"Less", foldBinary<std::less<>>},
    {"LessOrEqual", foldBinary<std::less_equal<>>},
    {"Max", foldBinary<Extreme<std::greater>>},
    {"Min", foldBinary<Extreme<std::less>>},
    {"Mul", foldBinary<Wrapping<std::multiplies>>},
    {"Neg", foldNeg},
    {"Not", foldNot},
    {"Or", foldLogical<std::bit_or<>>},
    {"Sqrt", foldFloat<std::sqrt>},
    {"Sub", foldBinary<Wrapping<std::minus>>},
    {"Where", foldWhere},
};

} // namespace

ArrayRef<Folder> halfstep::elementwiseFolders() { return folders; }

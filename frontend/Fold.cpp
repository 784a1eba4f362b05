//===- Fold.cpp - Arithmetic on shapes, done while importing --------------===//
//
// Integers are computed in 64 bits and wrap; floats in double, rounded once to their type, which is
// exact rounding for + - * / and sqrt of narrower types.
//
//===----------------------------------------------------------------------===//

#include "frontend/Fold.h"

#include "frontend/ShapeOperands.h"
#include "frontend/TensorProto.h"
#include "ir/Shape.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace halfstep {
namespace {

using Folded = FailureOr<DenseElementsAttr>;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

bool isFloatTensor(DenseElementsAttr constant) { return isa<FloatType>(constant.getElementType()); }

int64_t toNumber(const APInt &value, Type type) {
  return type.isUnsignedInteger() || type.isInteger(1) ? int64_t(value.getZExtValue())
                                                       : value.getSExtValue();
}
double toNumber(APFloat value, Type) {
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

APInt fromNumber(int64_t number, Type type) {
  return APInt(type.getIntOrFloatBitWidth(), uint64_t(number), /*isSigned=*/true);
}
APFloat fromNumber(double number, Type type) {
  APFloat value(number);
  bool inexact;
  value.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  return value;
}

template <typename T> using Stored = std::conditional_t<std::is_same_v<T, double>, APFloat, APInt>;

/// The elements as T: int64_t for integers and booleans, double for floats. A splat has one.
template <typename T> SmallVector<T> elements(DenseElementsAttr constant) {
  Type type = constant.getElementType();
  if (constant.isSplat())
    return {toNumber(constant.getSplatValue<Stored<T>>(), type)};
  return llvm::map_to_vector(constant.getValues<Stored<T>>(),
                             [&](const Stored<T> &value) { return toNumber(value, type); });
}

/// A constant of all elements, or of one that is repeated.
template <typename T> DenseElementsAttr make(RankedTensorType type, ArrayRef<T> numbers) {
  Type element = type.getElementType();
  if (element.isInteger(1))
    return DenseElementsAttr::get(
        type, llvm::map_to_vector(numbers, [](T number) { return number != T(0); }));
  if constexpr (std::is_same_v<T, double>)
    return DenseElementsAttr::get(
        type, llvm::map_to_vector(numbers, [&](T n) { return fromNumber(n, element); }));
  else
    return DenseElementsAttr::get(
        type, llvm::map_to_vector(numbers, [&](T n) { return fromNumber(n, element); }));
}

DenseElementsAttr integers(OpBinder &b, ArrayRef<int64_t> values, bool scalar = false) {
  SmallVector<int64_t> shape;
  if (!scalar)
    shape.push_back(values.size());
  return make<int64_t>(RankedTensorType::get(shape, b.scope.builder.getI64Type()), values);
}

/// Element i of the result is element source[i] of `from`.
DenseElementsAttr pick(DenseElementsAttr from, RankedTensorType type, ArrayRef<int64_t> source) {
  if (from.isSplat())
    return from.resizeSplat(type);
  auto gather = [&](auto all) {
    using T = typename decltype(all)::value_type;
    return make<T>(type, llvm::map_to_vector(source, [&](int64_t i) { return all[i]; }));
  };
  return isFloatTensor(from) ? gather(elements<double>(from)) : gather(elements<int64_t>(from));
}

RankedTensorType typeOf(DenseElementsAttr constant) {
  return cast<RankedTensorType>(constant.getType());
}

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (int64_t d = int64_t(sizes.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * sizes[d + 1];
  return strides;
}

/// The offsets that visiting `sizes` in row-major order gives with `strides`.
SmallVector<int64_t> offsets(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                             int64_t start = 0) {
  SmallVector<int64_t> result;
  if (llvm::is_contained(sizes, 0))
    return result;
  SmallVector<int64_t> index(sizes.size());
  int64_t offset = start;
  while (true) {
    result.push_back(offset);
    int64_t d = int64_t(sizes.size()) - 1;
    for (; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < sizes[d])
        break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
    if (d < 0)
      return result;
  }
}

/// The offsets of a tensor of shape `from` that is broadcast to `sizes`.
SmallVector<int64_t> broadcastOffsets(ArrayRef<int64_t> from, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 0), own = stridesOf(from);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1)
      strides[sizes.size() - from.size() + d] = own[d];
  return offsets(sizes, strides);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

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

FailureOr<SmallVector<DenseElementsAttr>> constants(OpBinder &b) {
  SmallVector<DenseElementsAttr> result;
  for (unsigned i = 0; i < b.size(); ++i) {
    result.push_back(b.constant(i));
    if (result.back().getElementType() != result.front().getElementType())
      return b.error() << "operands have different element types";
  }
  return result;
}

enum class Operation {
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  Equal,
  Less,
  LessEqual,
  Greater,
  GreaterEqual
};

template <Operation operation> std::optional<int64_t> compute(ArrayRef<int64_t> x) {
  auto wrap = [](uint64_t value) { return std::optional<int64_t>(int64_t(value)); };
  uint64_t a = x[0], b = x[1];
  switch (operation) {
  case Operation::Add:
    return wrap(a + b);
  case Operation::Sub:
    return wrap(a - b);
  case Operation::Mul:
    return wrap(a * b);
  case Operation::Div:
    if (x[1] == 0)
      return std::nullopt;
    return x[1] == -1 ? wrap(0 - a) : x[0] / x[1];
  case Operation::Max:
    return std::max(x[0], x[1]);
  case Operation::Min:
    return std::min(x[0], x[1]);
  case Operation::Equal:
    return x[0] == x[1];
  case Operation::Less:
    return x[0] < x[1];
  case Operation::LessEqual:
    return x[0] <= x[1];
  case Operation::Greater:
    return x[0] > x[1];
  case Operation::GreaterEqual:
    return x[0] >= x[1];
  }
  llvm_unreachable("operation");
}

template <Operation operation> std::optional<double> compute(ArrayRef<double> x) {
  switch (operation) {
  case Operation::Add:
    return x[0] + x[1];
  case Operation::Sub:
    return x[0] - x[1];
  case Operation::Mul:
    return x[0] * x[1];
  case Operation::Div:
    return x[0] / x[1];
  case Operation::Max:
    return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1];
  case Operation::Min:
    return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1];
  case Operation::Equal:
    return x[0] == x[1];
  case Operation::Less:
    return x[0] < x[1];
  case Operation::LessEqual:
    return x[0] <= x[1];
  case Operation::Greater:
    return x[0] > x[1];
  case Operation::GreaterEqual:
    return x[0] >= x[1];
  }
  llvm_unreachable("operation");
}

/// Two operands, or for Max and Min any number of them folded from the left.
template <Operation operation> Folded foldBinary(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  Type element = operands->front().getElementType();
  if (operation >= Operation::Equal)
    element = b.scope.builder.getI1Type();
  DenseElementsAttr result = operands->front();
  for (DenseElementsAttr next : ArrayRef(*operands).drop_front()) {
    Folded folded =
        isFloatTensor(result)
            ? mapElements<double>(b, {result, next}, element,
                                  [](ArrayRef<double> x) { return compute<operation>(x); })
            : mapElements<int64_t>(b, {result, next}, element,
                                   [](ArrayRef<int64_t> x) { return compute<operation>(x); });
    if (failed(folded))
      return failure();
    result = *folded;
  }
  return result;
}

template <double (*function)(double)> Folded foldFloat(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  if (!isFloatTensor(x))
    return b.error() << "needs a float operand";
  return mapElements<double>(b, x, x.getElementType(), [](ArrayRef<double> x) {
    return std::optional<double>(function(x[0]));
  });
}

Folded foldNeg(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  if (isFloatTensor(x))
    return mapElements<double>(b, x, x.getElementType(),
                               [](ArrayRef<double> x) { return std::optional<double>(-x[0]); });
  return mapElements<int64_t>(b, x, x.getElementType(), [](ArrayRef<int64_t> x) {
    return std::optional<int64_t>(int64_t(0 - uint64_t(x[0])));
  });
}

template <bool conjunction> Folded foldLogical(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  if (!operands->front().getElementType().isInteger(1) || operands->size() != 2)
    return b.error() << "needs two boolean operands";
  return mapElements<int64_t>(
      b, *operands, operands->front().getElementType(), [](ArrayRef<int64_t> x) {
        return std::optional<int64_t>(conjunction ? x[0] & x[1] : x[0] | x[1]);
      });
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
  if (!isFloatTensor(x))
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

/// Truncation toward zero; what does not fit saturates and NaN becomes 0, as everywhere in
/// halfstep.
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

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Folded foldShape(OpBinder &b) {
  ArrayRef<int64_t> sizes = b.type(0).getShape();
  int64_t rank = sizes.size();
  auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  int64_t start = clamp(b.integer("start", 0)), end = clamp(b.integer("end", rank));
  return integers(b, start < end ? sizes.slice(start, end - start) : ArrayRef<int64_t>());
}

Folded foldSize(OpBinder &b) { return integers(b, b.type(0).getNumElements(), /*scalar=*/true); }

Folded foldIdentity(OpBinder &b) { return b.constant(0); }

/// A constant under another shape of as many elements.
Folded foldReshaped(OpBinder &b, FailureOr<SmallVector<int64_t>> sizes) {
  if (failed(sizes))
    return failure();
  DenseElementsAttr x = b.constant(0);
  if (elementCount(*sizes) != x.getNumElements())
    return b.error() << "cannot reshape a constant of " << x.getNumElements() << " elements";
  return x.reshape(RankedTensorType::get(*sizes, x.getElementType()));
}

Folded foldReshape(OpBinder &b) { return foldReshaped(b, reshapedSizes(b)); }
Folded foldFlatten(OpBinder &b) { return foldReshaped(b, flattenedSizes(b)); }
Folded foldSqueeze(OpBinder &b) { return foldReshaped(b, squeezedSizes(b)); }
Folded foldUnsqueeze(OpBinder &b) { return foldReshaped(b, unsqueezedSizes(b)); }

Folded foldExpand(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  FailureOr<SmallVector<int64_t>> sizes = expandedSizes(b);
  if (failed(sizes))
    return failure();
  auto type = RankedTensorType::get(*sizes, x.getElementType());
  if (x.isSplat())
    return x.resizeSplat(type);
  if (failed(b.reserve(type.getNumElements())))
    return failure();
  return pick(x, type, broadcastOffsets(typeOf(x).getShape(), *sizes));
}

Folded foldTranspose(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  FailureOr<SmallVector<int64_t>> permutation = permutationOf(b, typeOf(x).getRank());
  if (failed(permutation))
    return failure();
  SmallVector<int64_t> strides = stridesOf(typeOf(x).getShape()), sizes, permuted;
  for (int64_t p : *permutation) {
    sizes.push_back(typeOf(x).getDimSize(p));
    permuted.push_back(strides[p]);
  }
  if (failed(b.reserve(x.getNumElements())))
    return failure();
  return pick(x, RankedTensorType::get(sizes, x.getElementType()), offsets(sizes, permuted));
}

Folded foldGather(OpBinder &b) {
  DenseElementsAttr data = b.constant(0), indices = b.constant(1);
  ArrayRef<int64_t> shape = typeOf(data).getShape();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  if (!isa<IntegerType>(indices.getElementType()))
    return b.error() << "indices are not integers";

  SmallVector<int64_t> sizes(shape.take_front(*axis));
  llvm::append_range(sizes, typeOf(indices).getShape());
  llvm::append_range(sizes, shape.drop_front(*axis + 1));
  std::optional<int64_t> count = elementCount(sizes);
  if (!count || failed(b.reserve(*count)) || failed(b.reserve(indices.getNumElements())))
    return failure();

  int64_t size = shape[*axis], inner = *elementCount(shape.drop_front(*axis + 1));
  SmallVector<int64_t> positions;
  for (const APInt &index : indices.getValues<APInt>()) {
    int64_t position = index.getSExtValue();
    if (position < -size || position >= size)
      return b.error() << "index " << position << " is outside a dimension of size " << size;
    positions.push_back(position < 0 ? position + size : position);
  }
  SmallVector<int64_t> source;
  for (int64_t outer = 0, end = *elementCount(shape.take_front(*axis)); outer < end; ++outer)
    for (int64_t position : positions)
      for (int64_t i = 0; i < inner; ++i)
        source.push_back((outer * size + position) * inner + i);
  return pick(data, RankedTensorType::get(sizes, data.getElementType()), source);
}

Folded foldConcat(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  RankedTensorType first = typeOf(operands->front());
  FailureOr<int64_t> axis = b.axis(b.integer("axis", 0), first.getRank());
  if (failed(axis))
    return failure();
  SmallVector<int64_t> sizes(first.getShape());
  sizes[*axis] = 0;
  for (DenseElementsAttr operand : *operands) {
    SmallVector<int64_t> others(typeOf(operand).getShape());
    if (others.size() != sizes.size())
      return b.error() << "operands have different ranks";
    sizes[*axis] += std::exchange(others[*axis], first.getDimSize(*axis));
    if (ArrayRef(others) != first.getShape())
      return b.error() << "operands differ in another dimension than the joined one";
  }
  auto type = RankedTensorType::get(sizes, first.getElementType());
  if (failed(b.reserve(type.getNumElements())))
    return failure();

  auto join = [&](auto zero) {
    using T = decltype(zero);
    int64_t outer = *elementCount(ArrayRef(sizes).take_front(*axis));
    SmallVector<T> result;
    SmallVector<SmallVector<T>> parts =
        llvm::map_to_vector(*operands, [](DenseElementsAttr x) { return elements<T>(x); });
    for (int64_t o = 0; o < outer; ++o)
      for (auto [operand, part] : llvm::zip(*operands, parts)) {
        int64_t block = *elementCount(typeOf(operand).getShape().drop_front(*axis));
        for (int64_t i = 0; i < block; ++i)
          result.push_back(part[operand.isSplat() ? 0 : o * block + i]);
      }
    return make<T>(type, result);
  };
  return isFloatTensor(operands->front()) ? join(double()) : join(int64_t());
}

Folded foldSlice(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  int64_t rank = typeOf(x).getRank();
  auto starts = b.attributeOrOperand("starts", 1), ends = b.attributeOrOperand("ends", 2),
       axes = b.attributeOrOperand("axes", 3), steps = b.attributeOrOperand("steps", 4);
  if (failed(starts) || failed(ends) || failed(axes) || failed(steps))
    return failure();
  if (!*starts || !*ends || (*starts)->size() != (*ends)->size() ||
      (*axes && (*axes)->size() != (*starts)->size()) ||
      (*steps && (*steps)->size() != (*starts)->size()))
    return b.error() << "starts, ends, axes and steps differ in length";

  SmallVector<int64_t> sizes(typeOf(x).getShape()), strides = stridesOf(sizes);
  SmallVector<bool> seen(rank);
  int64_t first = 0;
  for (size_t i = 0; i < (*starts)->size(); ++i) {
    FailureOr<int64_t> axis = b.axis(*axes ? (**axes)[i] : int64_t(i), rank);
    if (failed(axis))
      return failure();
    int64_t size = sizes[*axis], step = *steps ? (**steps)[i] : 1;
    if (step == 0 || step == std::numeric_limits<int64_t>::min() ||
        std::exchange(seen[*axis], true))
      return b.error() << "a step is zero, or an axis is named twice";
    // The positions are clamped to where the walk can start and end, which depends on its
    // direction.
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, low, high); };
    int64_t start = clamp((**starts)[i]), end = clamp((**ends)[i]);
    int64_t distance = step > 0 ? end - start : start - end;
    sizes[*axis] = distance <= 0 ? 0 : (distance - 1) / std::abs(step) + 1;
    first += start * strides[*axis];
    strides[*axis] *= sizes[*axis] > 1 ? step : 1;
  }
  auto type = RankedTensorType::get(sizes, x.getElementType());
  if (failed(b.reserve(type.getNumElements())))
    return failure();
  return pick(x, type, offsets(sizes, strides, first));
}

//===----------------------------------------------------------------------===//
// Creation and reduction
//===----------------------------------------------------------------------===//

/// The tensor in an attribute, which holds it whole.
Folded tensorAttribute(OpBinder &b, const onnx::TensorProto &tensor) {
  ExternalData none("");
  FailureOr<Weight> weight =
      readTensor(std::shared_ptr<const onnx::TensorProto>(&tensor, [](auto *) {}), none, b.loc);
  if (failed(weight) || failed(b.reserve(weight->type.getNumElements())))
    return failure();
  return toAttribute(*weight);
}

Folded foldConstant(OpBinder &b) {
  Builder &builder = b.scope.builder;
  if (const auto *value = b.attribute("value"))
    return tensorAttribute(b, value->t());
  if (const auto *value = b.attribute("value_int"))
    return integers(b, value->i(), /*scalar=*/true);
  if (const auto *value = b.attribute("value_ints"))
    return integers(b, SmallVector<int64_t>(value->ints().begin(), value->ints().end()));
  if (const auto *value = b.attribute("value_float"))
    return make<double>(RankedTensorType::get({}, builder.getF32Type()), double(value->f()));
  if (const auto *value = b.attribute("value_floats"))
    return make<double>(
        RankedTensorType::get({int64_t(value->floats_size())}, builder.getF32Type()),
        SmallVector<double>(value->floats().begin(), value->floats().end()));
  return b.error() << "holds a string or a sparse tensor, which is not supported";
}

Folded foldConstantOfShape(OpBinder &b) {
  FailureOr<SmallVector<int64_t>> sizes = b.integers(0, "sizes");
  if (failed(sizes))
    return failure();
  if (!elementCount(*sizes))
    return b.error() << "makes a tensor of an impossible shape";
  const onnx::AttributeProto *value = b.attribute("value");
  if (!value)
    return make<double>(RankedTensorType::get(*sizes, b.scope.builder.getF32Type()), 0.0);
  Folded element = tensorAttribute(b, value->t());
  if (failed(element))
    return failure();
  if (element->getNumElements() != 1)
    return b.error() << "its value is not one element";
  return element->resizeSplat(RankedTensorType::get(*sizes, element->getElementType()));
}

Folded foldRange(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  if (operands->size() != 3 ||
      llvm::any_of(*operands, [](DenseElementsAttr x) { return x.getNumElements() != 1; }))
    return b.error() << "needs three scalars";
  Type element = operands->front().getElementType();
  auto fill = [&](auto zero) -> Folded {
    using T = decltype(zero);
    T start = elements<T>((*operands)[0])[0], limit = elements<T>((*operands)[1])[0],
      delta = elements<T>((*operands)[2])[0];
    double count = std::ceil((double(limit) - double(start)) / double(delta));
    if (std::isnan(count) || count > double(b.scope.foldBudget))
      return b.error() << "has no end that can be computed when compiling";
    int64_t size = count > 0 ? int64_t(count) : 0;
    if (failed(b.reserve(size)))
      return failure();
    SmallVector<T> numbers;
    for (int64_t i = 0; i < size; ++i)
      numbers.push_back(start + T(i) * delta);
    return make<T>(RankedTensorType::get({size}, element), numbers);
  };
  return isa<FloatType>(element) ? fill(double()) : fill(int64_t());
}

/// Integer reductions; those of floats are left to the step.
template <typename Combine> Folded foldReduction(OpBinder &b, int64_t identity, Combine combine) {
  DenseElementsAttr x = b.constant(0);
  RankedTensorType type = typeOf(x);
  if (isFloatTensor(x))
    return b.error() << "a float constant is reduced";
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(b, type.getRank());
  if (failed(axes) || failed(b.reserve(x.getNumElements())))
    return failure();
  SmallVector<int64_t> kept, strides(type.getRank(), 0);
  bool keep = b.integer("keepdims", 1);
  int64_t stride = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; --d)
    if (!llvm::is_contained(*axes, d)) {
      strides[d] = stride;
      stride *= type.getDimSize(d);
    }
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!llvm::is_contained(*axes, d))
      kept.push_back(type.getDimSize(d));
    else if (keep)
      kept.push_back(1);
  SmallVector<int64_t> result(stride, identity), numbers = elements<int64_t>(x);
  for (auto [i, target] : llvm::enumerate(offsets(type.getShape(), strides)))
    result[target] = combine(result[target], numbers[x.isSplat() ? 0 : i]);
  return make<int64_t>(RankedTensorType::get(kept, type.getElementType()), result);
}

Folded foldReduceProd(OpBinder &b) {
  return foldReduction(b, 1, [](int64_t a, int64_t b) { return int64_t(uint64_t(a) * b); });
}
Folded foldReduceSum(OpBinder &b) {
  return foldReduction(b, 0, [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + b); });
}
Folded foldReduceMax(OpBinder &b) {
  return foldReduction(b, std::numeric_limits<int64_t>::min(),
                       [](int64_t a, int64_t b) { return std::max(a, b); });
}
Folded foldReduceMin(OpBinder &b) {
  return foldReduction(b, std::numeric_limits<int64_t>::max(),
                       [](int64_t a, int64_t b) { return std::min(a, b); });
}

} // namespace

FoldFunction folderOf(StringRef op) {
  static const llvm::StringMap<FoldFunction> table = {
      {"Add", foldBinary<Operation::Add>},
      {"And", foldLogical<true>},
      {"Cast", foldCast},
      {"CastLike", foldCastLike},
      {"Ceil", foldFloat<std::ceil>},
      {"Concat", foldConcat},
      {"Constant", foldConstant},
      {"ConstantOfShape", foldConstantOfShape},
      {"Div", foldBinary<Operation::Div>},
      {"Equal", foldBinary<Operation::Equal>},
      {"Expand", foldExpand},
      {"Flatten", foldFlatten},
      {"Floor", foldFloat<std::floor>},
      {"Gather", foldGather},
      {"Greater", foldBinary<Operation::Greater>},
      {"GreaterOrEqual", foldBinary<Operation::GreaterEqual>},
      {"Identity", foldIdentity},
      {"Less", foldBinary<Operation::Less>},
      {"LessOrEqual", foldBinary<Operation::LessEqual>},
      {"Max", foldBinary<Operation::Max>},
      {"Min", foldBinary<Operation::Min>},
      {"Mul", foldBinary<Operation::Mul>},
      {"Neg", foldNeg},
      {"Not", foldNot},
      {"Or", foldLogical<false>},
      {"Range", foldRange},
      {"ReduceMax", foldReduceMax},
      {"ReduceMin", foldReduceMin},
      {"ReduceProd", foldReduceProd},
      {"ReduceSum", foldReduceSum},
      {"Reshape", foldReshape},
      {"Shape", foldShape},
      {"Size", foldSize},
      {"Slice", foldSlice},
      {"Sqrt", foldFloat<std::sqrt>},
      {"Squeeze", foldSqueeze},
      {"Sub", foldBinary<Operation::Sub>},
      {"Transpose", foldTranspose},
      {"Unsqueeze", foldUnsqueeze},
      {"Where", foldWhere},
  };
  return table.lookup(op);
}

bool isFoldable(OpBinder &b) {
  StringRef op = b.node.op_type();
  if (!folderOf(op))
    return false;
  if (op == "Shape" || op == "Size")
    return true; // of any tensor: shapes are static
  for (unsigned i = 0; i < b.size(); ++i) {
    if (!b.has(i))
      continue;
    Binding *operand = b.scope.lookup(b.node.input(i));
    if (!operand || !operand->constant)
      return false;
  }
  // Sums of float constants belong to the step, whose reductions have one order.
  return !op.starts_with("Reduce") || isa<IntegerType>(b.constant(0).getElementType());
}

} // namespace halfstep

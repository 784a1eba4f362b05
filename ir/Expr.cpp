//===- Expr.cpp - The language of formulas --------------------------------===//

#include "ir/Expr.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace halfstep::train;

Type halfstep::train::computeType(Type storage) {
  return storage.isF16() || storage.isBF16() ? Type(Float32Type::get(storage.getContext()))
                                             : storage;
}

namespace {
/// Builds `TensorOp` for tensors, `FloatOp` or `IntOp` for scalars.
template <typename TensorOp, typename FloatOp, typename IntOp = FloatOp, typename... Operands>
Expr build(Expr first, Operands... rest) {
  auto &b = *first.builder;
  if (first.isTensor() || (rest.isTensor() || ...))
    return {b.create<TensorOp>(first.value, rest.value...), &b};
  if constexpr (!std::is_same_v<FloatOp, IntOp>)
    if (isa<IntegerType>(first.elementType()))
      return {b.create<IntOp>(first.value, rest.value...), &b};
  return {b.create<FloatOp>(first.value, rest.value...), &b};
}
} // namespace

Expr halfstep::train::constant(Expr like, double number) {
  auto &b = *like.builder;
  Type element = like.elementType();
  TypedAttr scalar = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, number))
                                             : b.getIntegerAttr(element, int64_t(number));
  if (like.isTensor())
    scalar = DenseElementsAttr::get(RankedTensorType::get({}, element), Attribute(scalar));
  return {b.create<arith::ConstantOp>(scalar), &b};
}

#define BINARY(NAME, TENSOR, FLOAT, INT)                                                           \
  Expr halfstep::train::NAME(Expr a, Expr b) { return build<TENSOR, FLOAT, INT>(a, b); }
BINARY(operator+, AddOp, arith::AddFOp, arith::AddIOp)
BINARY(operator-, SubOp, arith::SubFOp, arith::SubIOp)
BINARY(operator*, MulOp, arith::MulFOp, arith::MulIOp)
BINARY(operator/, DivOp, arith::DivFOp, arith::DivSIOp)
BINARY(maximum, MaximumOp, arith::MaximumFOp, arith::MaxSIOp)
BINARY(minimum, MinimumOp, arith::MinimumFOp, arith::MinSIOp)
BINARY(pow, PowOp, math::PowFOp, math::IPowIOp)
BINARY(logicalAnd, LogicalAndOp, arith::AndIOp, arith::AndIOp)
BINARY(logicalOr, LogicalOrOp, arith::OrIOp, arith::OrIOp)
#undef BINARY

#define UNARY(NAME, TENSOR, FLOAT)                                                                 \
  Expr halfstep::train::NAME(Expr a) { return build<TENSOR, FLOAT>(a); }
UNARY(exp, ExpOp, math::ExpOp)
UNARY(log, LogOp, math::LogOp)
UNARY(sqrt, SqrtOp, math::SqrtOp)
UNARY(tanh, TanhOp, math::TanhOp)
UNARY(sin, SinOp, math::SinOp)
UNARY(cos, CosOp, math::CosOp)
UNARY(erf, ErfOp, math::ErfOp)
UNARY(floor, FloorOp, math::FloorOp)
UNARY(roundEven, RoundOp, math::RoundEvenOp)
#undef UNARY

/// With t = tanh(x / 2), exp(x) - 1 = 2 t / (1 - t); where 1 - t loses digits, the difference does
/// not.
Expr halfstep::train::expm1(Expr x) {
  Expr t = tanh(0.5 * x);
  return select(x < 1.0, 2.0 * t / (1.0 - t), exp(x) - 1.0);
}
/// With w = 1 + x as it is rounded, log(w) x / (w - 1): the quotient of log(w) and w - 1 varies
/// slowly, so that it is right for 1 + x too (Kahan).
Expr halfstep::train::log1p(Expr x) {
  Expr w = 1.0 + x;
  return select(w == 1.0, x, log(w) * (x / (w - 1.0)));
}
Expr halfstep::train::sigmoid(Expr x) { return 1.0 / (1.0 + exp(-x)); }
Expr halfstep::train::softplus(Expr x) {
  return maximum(x, constant(x, 0.0)) + log1p(exp(-abs(x)));
}

Expr halfstep::train::abs(Expr a) {
  if (!a.isTensor() && isa<IntegerType>(a.elementType()))
    return {a.builder->create<math::AbsIOp>(a.value), a.builder};
  return build<AbsOp, math::AbsFOp>(a);
}
Expr halfstep::train::operator-(Expr a) {
  if (!a.isTensor() && isa<IntegerType>(a.elementType()))
    return constant(a, 0) - a;
  return build<NegOp, arith::NegFOp>(a);
}
Expr halfstep::train::logicalNot(Expr a) {
  if (a.isTensor())
    return {a.builder->create<LogicalNotOp>(a.value), a.builder};
  Value one = a.builder->create<arith::ConstantOp>(a.builder->getBoolAttr(true));
  return {a.builder->create<arith::XOrIOp>(a.value, one), a.builder};
}

Expr halfstep::train::compare(Comparison predicate, Expr a, Expr b) {
  auto &builder = *a.builder;
  if (a.isTensor())
    return {builder.create<CompareOp>(a.value, b.value, predicate), &builder};
  auto pick = [&](auto eq, auto ne, auto lt, auto le, auto gt, auto ge) {
    switch (predicate) {
    case Comparison::Equal:
      return eq;
    case Comparison::NotEqual:
      return ne;
    case Comparison::Less:
      return lt;
    case Comparison::LessEqual:
      return le;
    case Comparison::Greater:
      return gt;
    case Comparison::GreaterEqual:
      return ge;
    }
    llvm_unreachable("comparison");
  };
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  if (isa<FloatType>(a.elementType()))
    return {builder.create<arith::CmpFOp>(pick(F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE),
                                          a.value, b.value),
            &builder};
  return {builder.create<arith::CmpIOp>(pick(I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge), a.value,
                                        b.value),
          &builder};
}
Expr halfstep::train::operator==(Expr a, Expr b) { return compare(Comparison::Equal, a, b); }
Expr halfstep::train::operator<(Expr a, Expr b) { return compare(Comparison::Less, a, b); }
Expr halfstep::train::operator<=(Expr a, Expr b) { return compare(Comparison::LessEqual, a, b); }
Expr halfstep::train::operator>(Expr a, Expr b) { return compare(Comparison::Greater, a, b); }
Expr halfstep::train::operator>=(Expr a, Expr b) { return compare(Comparison::GreaterEqual, a, b); }

Expr halfstep::train::select(Expr condition, Expr a, Expr b) {
  auto &builder = *condition.builder;
  if (condition.isTensor())
    return {builder.create<SelectOp>(condition.value, a.value, b.value), &builder};
  return {builder.create<arith::SelectOp>(condition.value, a.value, b.value), &builder};
}

/// `x` where it has a value as a signed integer of `bits` bits; the nearest such number elsewhere,
/// and 0 for NaN. What a plain conversion makes of those is undefined.
static Expr clampToInteger(Expr x, unsigned bits) {
  const llvm::fltSemantics &semantics = cast<FloatType>(x.elementType()).getFloatSemantics();
  APFloat largest(semantics), smallest(semantics);
  largest.convertFromAPInt(APInt::getSignedMaxValue(bits), true, APFloat::rmTowardZero);
  smallest.convertFromAPInt(APInt::getSignedMinValue(bits), true, APFloat::rmTowardZero);
  Expr number = select(compare(Comparison::Equal, x, x), x, constant(x, 0.0));
  return minimum(maximum(number, constant(x, smallest.convertToDouble())),
                 constant(x, largest.convertToDouble()));
}

Expr halfstep::train::convert(Expr x, Type to) {
  auto &b = *x.builder;
  Type from = x.elementType();
  if (from == to)
    return x;
  if (x.isTensor())
    return {b.create<CastOp>(x.value, to), &b};
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (to.isInteger(1)) // a boolean is "not zero"
    return compare(Comparison::NotEqual, x, constant(x, 0));
  Value v = x.value;
  if (fromFloat && toFloat)
    v = fromBits < toBits ? b.create<arith::ExtFOp>(to, v).getResult()
                          : b.create<arith::TruncFOp>(to, v).getResult();
  else if (fromFloat)
    v = b.create<arith::FPToSIOp>(to, clampToInteger(x, toBits).value);
  else if (toFloat)
    v = from.isInteger(1) ? b.create<arith::UIToFPOp>(to, v).getResult()
                          : b.create<arith::SIToFPOp>(to, v).getResult();
  else if (toBits < fromBits)
    v = b.create<arith::TruncIOp>(to, v);
  else if (toBits > fromBits)
    v = from.isInteger(1) ? b.create<arith::ExtUIOp>(to, v).getResult()
                          : b.create<arith::ExtSIOp>(to, v).getResult();
  return {v, &b};
}

//===----------------------------------------------------------------------===//
// Tensors only
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> sorted(ArrayRef<int64_t> axes) {
  SmallVector<int64_t> result(axes);
  llvm::sort(result);
  return result;
}
Expr halfstep::train::sum(Expr x, ArrayRef<int64_t> axes) {
  return {x.builder->create<SumOp>(x.value, sorted(axes)), x.builder};
}
Expr halfstep::train::max(Expr x, ArrayRef<int64_t> axes) {
  return {x.builder->create<MaxOp>(x.value, sorted(axes)), x.builder};
}
Expr halfstep::train::min(Expr x, ArrayRef<int64_t> axes) {
  return {x.builder->create<MinOp>(x.value, sorted(axes)), x.builder};
}
Expr halfstep::train::sumAll(Expr x) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(x.sizes().size()));
  return reshape(sum(x, axes), ArrayRef<int64_t>{});
}
double halfstep::train::elementCount(Expr x, ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes)
    count *= double(x.sizes()[axis]);
  return count;
}
Expr halfstep::train::broadcast(Expr x, Expr like) {
  if (x.sizes() == like.sizes())
    return x;
  return {x.builder->create<BroadcastOp>(x.value, like.sizes()), x.builder};
}
Expr halfstep::train::reshape(Expr x, ArrayRef<int64_t> sizes) {
  if (x.sizes() == sizes)
    return x;
  return {x.builder->create<ReshapeOp>(x.value, sizes), x.builder};
}
Expr halfstep::train::transpose(Expr x, ArrayRef<int64_t> permutation) {
  return {x.builder->create<TransposeOp>(x.value, permutation), x.builder};
}
SmallVector<int64_t> halfstep::train::inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [i, p] : llvm::enumerate(permutation))
    result[p] = i;
  return result;
}
Expr halfstep::train::slice(Expr x, const Place &place, ArrayRef<int64_t> sizes) {
  return {x.builder->create<SliceOp>(x.value, place.offsets, place.strides, sizes), x.builder};
}
Expr halfstep::train::pad(Expr x, Expr value, const Place &place, ArrayRef<int64_t> sizes) {
  return {x.builder->create<PadOp>(x.value, value.value, place.offsets, place.strides, sizes),
          x.builder};
}
Expr halfstep::train::concat(ArrayRef<Expr> xs, int64_t axis) {
  auto values = llvm::map_to_vector(xs, [](Expr x) { return x.value; });
  return {xs[0].builder->create<ConcatOp>(values, axis), xs[0].builder};
}
Expr halfstep::train::matmul(Expr a, Expr b, bool transA, bool transB) {
  return {a.builder->create<MatmulOp>(a.value, b.value, transA, transB), a.builder};
}
Expr halfstep::train::iota(Expr like, int64_t dimension) {
  SmallVector<int64_t> sizes(like.sizes().size(), 1);
  sizes[dimension] = like.sizes()[dimension];
  return {like.builder->create<IotaOp>(dimension, sizes), like.builder};
}
Expr halfstep::train::softmax(Expr x, int64_t axis) {
  Expr e = exp(x - max(x, {axis}));
  return e / sum(e, {axis});
}
Expr halfstep::train::logSoftmax(Expr x, int64_t axis) {
  Expr shifted = x - max(x, {axis});
  return shifted - log(sum(exp(shifted), {axis}));
}
Expr halfstep::train::logSumExp(Expr x, ArrayRef<int64_t> axes) {
  // Numbers that are all -infinity, or have an infinity among them, are not shifted.
  Expr largest = max(x, axes);
  Expr shift = select(abs(largest) == std::numeric_limits<double>::infinity(),
                      constant(largest, 0.0), largest);
  return log(sum(exp(x - shift), axes)) + shift;
}

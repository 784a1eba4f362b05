//===- RandomOps.cpp - Random numbers, and what draws them ----------------===//

#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace halfstep::train;

Expr halfstep::train::drawBits(const RandomTime &time, uint32_t stream, ArrayRef<int64_t> sizes) {
  auto &b = *time.seed.builder;
  Expr element{b.create<IotaOp>(0, ShapedType::getNumElements(sizes)), &b};
  return {b.create<PhiloxOp>(reshape(element, sizes).value, time.micro.value, time.iteration.value,
                             time.seed.value, stream),
          &b};
}

//===----------------------------------------------------------------------===//
// Philox
//===----------------------------------------------------------------------===//

namespace {
/// Arithmetic on 32-bit words.
struct Words {
  ImplicitLocOpBuilder &b;
  Type i32 = b.getI32Type(), i64 = b.getI64Type();

  Value constant(uint32_t word) {
    return b.create<arith::ConstantOp>(b.getI32IntegerAttr(int32_t(word)));
  }
  Value low(Value wide) { return b.create<arith::TruncIOp>(i32, wide); }
  Value high(Value wide) {
    Value half = b.create<arith::ConstantOp>(b.getI64IntegerAttr(32));
    return low(b.create<arith::ShRUIOp>(wide, half));
  }
  Value multiply(Value word, uint32_t factor) {
    Value wide = b.create<arith::ConstantOp>(b.getI64IntegerAttr(factor));
    return b.create<arith::MulIOp>(b.create<arith::ExtUIOp>(i64, word), wide);
  }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(x, y); }
  Value exclusiveOr(Value x, Value y) { return b.create<arith::XOrIOp>(x, y); }
};
} // namespace

Expr halfstep::train::philox(Expr element, Expr micro, Expr iteration, uint32_t stream, Expr seed) {
  Words w{*element.builder};
  auto count = [&](Expr number) { return w.low(convert(number, w.i64).value); };
  Value c[] = {element.value, count(micro), count(iteration), w.constant(stream)};
  Value key[] = {w.low(seed.value), w.high(seed.value)};
  for (int round = 0; round < 10; ++round) {
    Value first = w.multiply(c[0], 0xD2511F53), second = w.multiply(c[2], 0xCD9E8D57);
    c[0] = w.exclusiveOr(w.exclusiveOr(w.high(second), c[1]), key[0]);
    c[1] = w.low(second);
    c[2] = w.exclusiveOr(w.exclusiveOr(w.high(first), c[3]), key[1]);
    c[3] = w.low(first);
    key[0] = w.add(key[0], w.constant(0x9E3779B9));
    key[1] = w.add(key[1], w.constant(0xBB67AE85));
  }
  return {c[0], element.builder};
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// Read as signed, the bits are uniform in [-2^31, 2^31): the lowest `ratio` of them drop.
Expr halfstep::train::isDropped(Expr bits, double ratio) {
  double dropped = std::max(1.0, std::round(ratio * 0x1p32));
  return bits <= dropped - 1 - 0x1p31;
}

Expr halfstep::train::dropout(Expr x, Expr bits, double ratio) {
  double scale = ratio < 1 ? 1 / (1 - ratio) : 0;
  return select(isDropped(bits, ratio), constant(x, 0.0), x * scale);
}

static LogicalResult verifyRatio(Operation *op, double ratio) {
  if (ratio > 0 && ratio <= 1)
    return success();
  return op->emitOpError("has a ratio of ") << ratio << ", which is not above 0 and at most 1";
}
LogicalResult DropoutOp::verify() { return verifyRatio(*this, getRatio().convertToDouble()); }
LogicalResult DropoutMaskOp::verify() { return verifyRatio(*this, getRatio().convertToDouble()); }

Expr DropoutOp::evaluation(ExprBuilder &e) { return e(getX()); }
Expr DropoutMaskOp::evaluation(ExprBuilder &e) {
  auto all = DenseElementsAttr::get(cast<RankedTensorType>(getType()), true);
  return e(e.builder.create<arith::ConstantOp>(all));
}

//===----------------------------------------------------------------------===//
// Stochastic rounding
//===----------------------------------------------------------------------===//

Expr halfstep::train::roundStochastically(Expr x, Expr bits, Type to) {
  auto &b = *x.builder;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  auto integer = [&](int32_t value) -> Value {
    return b.create<arith::ConstantOp>(b.getI32IntegerAttr(value));
  };
  const llvm::fltSemantics &semantics = cast<FloatType>(to).getFloatSemantics();
  int fraction = APFloat::semanticsPrecision(semantics) - 1; // bits behind the point
  double smallest = std::exp2(APFloat::semanticsMinExponent(semantics) - fraction);
  double largest = APFloat::getLargest(semantics).convertToDouble();

  // The power of two at or below |x| is x without its sign and fraction; every step below is exact.
  Value exponent =
      b.create<arith::AndIOp>(b.create<arith::BitcastOp>(i32, x.value), integer(0x7f800000));
  Expr power{b.create<arith::BitcastOp>(f32, exponent), &b};
  Expr spacing = maximum(power * std::exp2(-fraction), constant(x, smallest));
  Expr steps = x / spacing, below = floor(steps);
  // Uniform in (0, 1): the odd multiples of 2^-24.
  Expr high{b.create<arith::ShRUIOp>(bits.value, integer(9)), &b};
  Expr uniform = (convert(high, f32) + 0.5) * 0x1p-23;
  Expr rounded = select(uniform < steps - below, below + 1.0, below) * spacing;
  return select(abs(x) < largest, rounded, x);
}

LogicalResult StochasticCastOp::verify() {
  if (getTo().isF16() || getTo().isBF16())
    return success();
  return emitOpError("rounds to ") << getTo() << ", which is not a 16-bit float type";
}

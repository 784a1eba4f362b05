//===- MathInDouble.cpp - functions of f32 that are computed in f64 ------------------------===//
//
// Where f32 would need numbers in two parts: the logarithm in a power, the reduction of an angle.
// In f64 plain series reach far beyond f32, and one rounding at the end is all that is lost.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/MathLanes.h"

using namespace mlir;
using namespace halfstep::codegen;

/// |x|^y = exp(y log|x|) in f64, then the sign and the special cases of C's pow.
Value halfstep::codegen::rewritePow(Lanes &b, math::PowFOp op) {
  Value x = op.getLhs(), y = op.getRhs(), magnitude = b.abs(x);
  Type wide = b.of(b.getF64Type());
  Value a = b.create<arith::ExtFOp>(wide, magnitude), power = b.create<arith::ExtFOp>(wide, y);

  // log a = e ln 2 + 2 artanh s, s = (m - 1) / (m + 1), m in [sqrt 1/2, sqrt 2): |s| <= 0.172.
  Value offset = b.i64(0x3fe6a09e667f3bcd); // sqrt 1/2
  Value moved = b.subtractBits(b.bits(a), offset);
  Value exponent = b.create<arith::ShRSIOp>(moved, b.i64(52));
  Value e =
      b.create<arith::SIToFPOp>(wide, b.create<arith::TruncIOp>(b.of(b.getI32Type()), exponent));
  Value m = b.fromBits(b.addBits(b.andBits(moved, b.i64((1ll << 52) - 1)), offset));
  Value s = b.div(b.sub(m, b.f64(1)), b.add(m, b.f64(1)));
  Value series = b.polynomial(
      b.mul(s, s), {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
  Value logarithm = b.fma(e, b.f64(0.6931471805599453), b.mul(series, s));
  logarithm = b.select(b.compare(CmpFPredicate::OEQ, a, b.f64(0)), b.f64(-infinity), logarithm);
  logarithm = b.select(b.compare(CmpFPredicate::OLT, a, b.f64(infinity)), logarithm, a);

  // exp t = 2^n exp r; f32 overflows and underflows well inside the limits.
  Value t = b.mul(power, logarithm);
  t = b.select(b.compare(CmpFPredicate::OGT, t, b.f64(700)), b.f64(700), t);
  t = b.select(b.compare(CmpFPredicate::OLT, t, b.f64(-700)), b.f64(-700), t);
  Value magic = b.f64(0x1.8p52);
  Value shifted = b.fma(t, b.f64(1.4426950408889634), magic);
  Value r = b.fma(b.sub(shifted, magic), b.f64(-0.6931471805599453), t);
  SmallVector<double> inverseFactorials; // 1/10!, ..., 1/1!, 1
  for (double i = 10, f = 3628800; i >= 0; f /= std::max(i, 1.0), --i)
    inverseFactorials.push_back(1 / f);
  Value scale = b.create<arith::ShLIOp>(
      b.addBits(b.subtractBits(b.bits(shifted), b.bits(magic)), b.i64(1023)), b.i64(52));
  Value result = b.create<arith::TruncFOp>(
      b.shape, b.mul(b.polynomial(r, inverseFactorials), b.fromBits(scale)));

  // A negative base needs an integer exponent, and takes the sign of an odd one.
  auto floor = [&](Value v) -> Value { return b.create<math::FloorOp>(v); };
  Value half = b.mul(y, b.f32(0.5));
  Value isInteger = b.compare(CmpFPredicate::OEQ, floor(y), y);
  Value isOdd =
      b.create<arith::AndIOp>(isInteger, b.compare(CmpFPredicate::ONE, floor(half), half));
  Value signedResult = b.create<math::CopySignOp>(result, x);
  result = b.select(isOdd, signedResult, result);
  Value isNegative = b.create<arith::AndIOp>(b.compare(CmpFPredicate::OLT, x, b.f32(0)),
                                             b.compare(CmpFPredicate::OGT, x, b.f32(-infinity)));
  Value isFraction = b.compare(CmpFPredicate::ONE, floor(y), y);
  result = b.select(b.create<arith::AndIOp>(isNegative, isFraction), b.f32(notANumber), result);
  // 1 to anything, -1 to an infinity and anything to 0 are 1, NaN included.
  Value isInfinite = b.compare(CmpFPredicate::OEQ, b.abs(y), b.f32(infinity));
  Value isOne = b.create<arith::OrIOp>(
      b.compare(CmpFPredicate::OEQ, x, b.f32(1)),
      b.create<arith::AndIOp>(isInfinite, b.compare(CmpFPredicate::OEQ, magnitude, b.f32(1))));
  isOne = b.create<arith::OrIOp>(isOne, b.compare(CmpFPredicate::OEQ, y, b.f32(0)));
  return b.select(isOne, b.f32(1), result);
}

/// sin(x + quadrants * pi/2). x = n pi/2 + r, |r| <= pi/4; n is exact below 2^50, and beyond, where
/// neighbouring numbers of f32 are whole turns apart, the result is NaN.
static Value sine(Lanes &b, Value x, int64_t quadrants) {
  Type wide = b.of(b.getF64Type());
  Value a = b.create<arith::ExtFOp>(wide, x);
  Value magic = b.f64(0x1.8p52); // adding it rounds to an integer, in the low bits
  Value shifted = b.fma(a, b.f64(0.63661977236758134), magic);
  Value n = b.sub(shifted, magic);
  Value r = b.fma(n, b.f64(-1.5707963267948966), a); // pi/2 in two parts
  r = b.fma(n, b.f64(-6.123233995736766e-17), r);
  Value square = b.mul(r, r);
  Value sin = b.mul(r, b.polynomial(square, {-1 / 39916800.0, 1 / 362880.0, -1 / 5040.0, 1 / 120.0,
                                             -1 / 6.0, 1.0}));
  Value cos = b.polynomial(
      square, {1 / 479001600.0, -1 / 3628800.0, 1 / 40320.0, -1 / 720.0, 1 / 24.0, -1 / 2.0, 1.0});
  Value quadrant = b.addBits(b.bits(shifted), b.i64(quadrants));
  auto bit = [&](int64_t mask) -> Value {
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.andBits(quadrant, b.i64(mask)),
                                   b.i64(0));
  };
  Value result = b.select(bit(1), cos, sin);
  result = b.select(bit(2), b.create<arith::NegFOp>(result), result);
  Value isSmall = b.compare(CmpFPredicate::OLT, b.abs(a), b.f64(0x1p50));
  return b.create<arith::TruncFOp>(b.shape, b.select(isSmall, result, b.f64(notANumber)));
}

Value halfstep::codegen::rewriteSin(Lanes &b, math::SinOp op) {
  return sine(b, op.getOperand(), 0);
}

Value halfstep::codegen::rewriteCos(Lanes &b, math::CosOp op) {
  return sine(b, op.getOperand(), 1);
}

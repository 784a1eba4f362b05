//===- MathPolynomials.cpp - elementary functions of f32, as arithmetic --------------------===//
//
// Argument reductions are the classical ones; polynomials are minimax fits of the relative error of
// the whole function with coefficients rounded to f32 one after another, lowest power first. Every
// multiply-add is an fma: the same bits on every vector width and target. powf works in f64, where
// plain series reach far beyond f32.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/MathPolynomials.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;

namespace {
using arith::CmpFPredicate;

/// Scalar-or-vector arithmetic in the shape of one operation's type.
struct Lanes : ImplicitLocOpBuilder {
  Lanes(PatternRewriter &rewriter, Operation *op)
      : ImplicitLocOpBuilder(op->getLoc(), rewriter), shape(op->getResult(0).getType()) {}

  Type shape;

  Type of(Type element) {
    auto vector = dyn_cast<VectorType>(shape);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(of(value.getType())))
      return create<arith::ConstantOp>(DenseElementsAttr::get(vector, value));
    return create<arith::ConstantOp>(value);
  }
  Value f32(double value) { return constant(getF32FloatAttr(value)); }
  Value f64(double value) { return constant(getF64FloatAttr(value)); }
  Value i32(int64_t value) { return constant(getI32IntegerAttr(value)); }
  Value i64(int64_t value) { return constant(getI64IntegerAttr(value)); }
  /// A number of x's type.
  Value like(Value x, double value) {
    return getElementTypeOrSelf(x).isF32() ? f32(value) : f64(value);
  }

  Value add(Value x, Value y) { return create<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return create<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return create<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return create<arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) { return create<math::FmaOp>(x, y, z); }
  Value abs(Value x) { return create<math::AbsFOp>(x); }
  Value compare(CmpFPredicate predicate, Value x, Value y) {
    return create<arith::CmpFOp>(predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return create<arith::SelectOp>(condition, x, y);
  }
  Value bits(Value x) {
    bool isSingle = getElementTypeOrSelf(x).isF32();
    return create<arith::BitcastOp>(of(isSingle ? getI32Type() : getI64Type()), x);
  }
  Value fromBits(Value x) {
    bool isSingle = getElementTypeOrSelf(x).isInteger(32);
    return create<arith::BitcastOp>(of(isSingle ? getF32Type() : getF64Type()), x);
  }
  /// c0 + c1 x + c2 x^2 + ..., the coefficients from the highest power down.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = like(x, coefficients[0]);
    for (double c : coefficients.drop_front())
      sum = fma(sum, x, like(x, c));
    return sum;
  }
  Value integer(Value x, Value y, StringRef op) {
    if (op == "+")
      return create<arith::AddIOp>(x, y);
    if (op == "-")
      return create<arith::SubIOp>(x, y);
    return create<arith::AndIOp>(x, y);
  }

  Value exp(Value x);
};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// exp x = 2^n exp r with |r| <= ln 2 / 2; 2^n in two factors, so that subnormal results are
/// rounded once. Beyond the limits the result is 0 or infinity; NaN passes.
Value Lanes::exp(Value x) {
  x = select(compare(CmpFPredicate::OGT, x, f32(89)), f32(89), x);
  x = select(compare(CmpFPredicate::OLT, x, f32(-104)), f32(-104), x);
  Value magic = f32(0x1.8p23); // adding it rounds to an integer, in the low bits
  Value shifted = fma(x, f32(1.44269504088896341), magic);
  Value n = sub(shifted, magic);
  Value r = fma(n, f32(-0x1.62e4p-1), x); // ln 2 in two parts, the first exact times n
  r = fma(n, f32(-1.42860682030941723e-6), r);
  Value p = polynomial(r, {0.0013820983, 0.00836867, 0.041668262, 0.16666521, 0.49999994, 1, 1});
  Value exponent = integer(bits(shifted), bits(magic), "-");
  Value half = create<arith::ShRSIOp>(exponent, i32(1));
  Value rest = integer(exponent, half, "-");
  auto power = [&](Value e) {
    return fromBits(create<arith::ShLIOp>(integer(e, i32(127), "+"), i32(23)));
  };
  return mul(mul(p, power(half)), power(rest));
}

/// An operation on f32 rewritten by `Rewrite(Lanes &, Op)`.
template <typename Op, Value (*Rewrite)(Lanes &, Op)>
struct SinglePrecision : OpRewritePattern<Op> {
  SinglePrecision(MLIRContext *context) : OpRewritePattern<Op>(context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Lanes lanes(rewriter, op);
    rewriter.replaceOp(op, Rewrite(lanes, op));
    return success();
  }
};

Value rewriteExp(Lanes &b, math::ExpOp op) { return b.exp(op.getOperand()); }

/// log x = e ln 2 + log(1 + f) with 1 + f in [sqrt 1/2, sqrt 2).
Value rewriteLog(Lanes &b, math::LogOp op) {
  Value x = op.getOperand();
  Value isSubnormal = b.compare(CmpFPredicate::OLT, x, b.f32(0x1p-126));
  Value normal = b.select(isSubnormal, b.mul(x, b.f32(0x1p23)), x);
  Value offset = b.i32(0x3f3504f3); // sqrt 1/2
  Value moved = b.integer(b.bits(normal), offset, "-");
  Value e = b.create<arith::SIToFPOp>(b.shape, b.create<arith::ShRSIOp>(moved, b.i32(23)));
  e = b.add(e, b.select(isSubnormal, b.f32(-23), b.f32(0)));
  Value mantissa = b.integer(b.integer(moved, b.i32(0x7fffff), "&"), offset, "+");
  Value f = b.sub(b.fromBits(mantissa), b.f32(1));
  Value p = b.polynomial(f, {-0.0763581, 0.12761901, -0.13159679, 0.14201623, -0.16623408,
                             0.2000124, -0.2500082, 0.3333333, -0.5});
  Value f2 = b.mul(f, f);
  Value low = b.fma(e, b.f32(-2.12194440054690583e-4), b.mul(p, f2)); // ln 2 = 0.693359375 - ...
  Value result = b.fma(e, b.f32(0.693359375), b.add(low, f));
  // +infinity and NaN are their own logarithms.
  result = b.select(b.compare(CmpFPredicate::ULT, x, b.f32(infinity)), result, x);
  result = b.select(b.compare(CmpFPredicate::OEQ, x, b.f32(0)), b.f32(-infinity), result);
  return b.select(b.compare(CmpFPredicate::OLT, x, b.f32(0)), b.f32(notANumber), result);
}

/// Odd polynomial near zero, 1 - 2 / (exp 2|x| + 1) beyond.
Value rewriteTanh(Lanes &b, math::TanhOp op) {
  Value x = op.getOperand(), magnitude = b.abs(x), square = b.mul(x, x);
  Value p = b.polynomial(square, {-0.00564117, 0.020582754, -0.05372271, 0.13331242, -0.33333275});
  Value small = b.fma(b.mul(p, square), x, x);
  Value large =
      b.sub(b.f32(1), b.div(b.f32(2), b.add(b.exp(b.add(magnitude, magnitude)), b.f32(1))));
  large = b.create<math::CopySignOp>(large, x);
  return b.select(b.compare(CmpFPredicate::OLT, magnitude, b.f32(0.625)), small, large);
}

/// x + x P(x^2) near zero; beyond, 1 - exp -Q(|x|), with Q a fit of -log(1 - erf).
Value rewriteErf(Lanes &b, math::ErfOp op) {
  Value x = op.getOperand(), magnitude = b.abs(x);
  Value p = b.polynomial(b.mul(x, x), {-0.00059945049, 0.0049940380, -0.026767349, 0.11281843,
                                       -0.37612498, 0.12837915});
  Value small = b.fma(p, x, x);
  Value t = b.select(b.compare(CmpFPredicate::OGT, magnitude, b.f32(4)), b.f32(4), magnitude);
  Value q = b.polynomial(t, {-0.00019571626, 0.0030410674, -0.022218412, 0.10391405, 0.63720214,
                             1.1276639, 0.00019851964});
  Value large = b.sub(b.f32(1), b.exp(b.sub(b.f32(0), q)));
  large = b.create<math::CopySignOp>(large, x);
  return b.select(b.compare(CmpFPredicate::OLT, magnitude, b.f32(0.921875)), small, large);
}

/// |x|^y = exp(y log|x|) in f64, then the sign and the special cases of C's pow.
Value rewritePow(Lanes &b, math::PowFOp op) {
  Value x = op.getLhs(), y = op.getRhs(), magnitude = b.abs(x);
  Type wide = b.of(b.getF64Type());
  Value a = b.create<arith::ExtFOp>(wide, magnitude), power = b.create<arith::ExtFOp>(wide, y);

  // log a = e ln 2 + 2 artanh s, s = (m - 1) / (m + 1), m in [sqrt 1/2, sqrt 2): |s| <= 0.172.
  Value offset = b.i64(0x3fe6a09e667f3bcd); // sqrt 1/2
  Value moved = b.integer(b.bits(a), offset, "-");
  Value exponent = b.create<arith::ShRSIOp>(moved, b.i64(52));
  Value e =
      b.create<arith::SIToFPOp>(wide, b.create<arith::TruncIOp>(b.of(b.getI32Type()), exponent));
  Value m = b.fromBits(b.integer(b.integer(moved, b.i64((1ll << 52) - 1), "&"), offset, "+"));
  Value s = b.div(b.sub(m, b.f64(1)), b.add(m, b.f64(1)));
  Value series = b.polynomial(
      b.mul(s, s), {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
  Value logarithm = b.fma(e, b.f64(0.6931471805599453), b.mul(series, s));
  logarithm = b.select(b.compare(CmpFPredicate::OEQ, a, b.f64(0)), b.f64(-infinity), logarithm);
  logarithm = b.select(b.compare(CmpFPredicate::ULT, a, b.f64(infinity)), logarithm, a);

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
      b.integer(b.integer(b.bits(shifted), b.bits(magic), "-"), b.i64(1023), "+"), b.i64(52));
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

/// Whether a value is a constant, or a vector of one.
bool isConstant(Value value) {
  if (auto splat = value.getDefiningOp<vector::SplatOp>())
    value = splat.getInput();
  return value.getDefiningOp<arith::ConstantOp>() != nullptr;
}

/// maximumf and minimumf as comparisons: a NaN among the operands is the result, zeros of either
/// sign count as equal. Against a constant (relu) that is one machine instruction.
template <typename Op, CmpFPredicate Predicate> struct Extremum : OpRewritePattern<Op> {
  Extremum(MLIRContext *context) : OpRewritePattern<Op>(context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getLhs(), y = op.getRhs();
    if (isConstant(y))
      std::swap(x, y);
    Value wins = b.create<arith::CmpFOp>(Predicate, x, y);
    Value result = b.create<arith::SelectOp>(wins, x, y); // y if either is NaN
    if (!isConstant(x)) {
      Value isNaN = b.create<arith::CmpFOp>(CmpFPredicate::UNO, x, x);
      result = b.create<arith::SelectOp>(isNaN, x, result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void halfstep::codegen::populateMathPolynomialPatterns(RewritePatternSet &patterns) {
  patterns.add<SinglePrecision<math::ExpOp, rewriteExp>, SinglePrecision<math::LogOp, rewriteLog>,
               SinglePrecision<math::TanhOp, rewriteTanh>, SinglePrecision<math::ErfOp, rewriteErf>,
               SinglePrecision<math::PowFOp, rewritePow>,
               Extremum<arith::MaximumFOp, CmpFPredicate::OGT>,
               Extremum<arith::MinimumFOp, CmpFPredicate::OLT>>(patterns.getContext());
}

//===- MathPolynomials.cpp - elementary functions of f32, as arithmetic --------------------===//
//
// Argument reductions are the classical ones; polynomials are minimax fits of the relative error of
// the whole function with coefficients rounded to f32 one after another, lowest power first. Every
// multiply-add is an fma: the same bits on every vector width and target.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/MathPolynomials.h"
#include "codegen/MathLanes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace halfstep::codegen;

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
  Value exponent = subtractBits(bits(shifted), bits(magic));
  Value half = create<arith::ShRSIOp>(exponent, i32(1));
  Value rest = subtractBits(exponent, half);
  auto power = [&](Value e) {
    return fromBits(create<arith::ShLIOp>(addBits(e, i32(127)), i32(23)));
  };
  return mul(mul(p, power(half)), power(rest));
}

namespace {
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
  Value moved = b.subtractBits(b.bits(normal), offset);
  Value e = b.create<arith::SIToFPOp>(b.shape, b.create<arith::ShRSIOp>(moved, b.i32(23)));
  e = b.add(e, b.select(isSubnormal, b.f32(-23), b.f32(0)));
  Value mantissa = b.addBits(b.andBits(moved, b.i32(0x7fffff)), offset);
  Value f = b.sub(b.fromBits(mantissa), b.f32(1));
  Value p = b.polynomial(f, {-0.0763581, 0.12761901, -0.13159679, 0.14201623, -0.16623408,
                             0.2000124, -0.2500082, 0.3333333, -0.5});
  Value f2 = b.mul(f, f);
  Value low = b.fma(e, b.f32(-2.12194440054690583e-4), b.mul(p, f2)); // ln 2 = 0.693359375 - ...
  Value result = b.fma(e, b.f32(0.693359375), b.add(low, f));
  // +infinity and NaN are their own logarithms.
  result = b.select(b.compare(CmpFPredicate::OLT, x, b.f32(infinity)), result, x);
  result = b.select(b.compare(CmpFPredicate::OEQ, x, b.f32(0)), b.f32(-infinity), result);
  return b.select(b.compare(CmpFPredicate::OLT, x, b.f32(0)), b.f32(notANumber), result);
}

/// Odd polynomial near zero, 1 - 2 / (exp 2|x| + 1) beyond.
Value rewriteTanh(Lanes &b, math::TanhOp op) {
  Value x = op.getOperand(), magnitude = b.abs(x), square = b.mul(x, x);
  Value p = b.polynomial(square, {-0.00564117, 0.020582754, -0.05372271, 0.13331242, -0.33333275});
  Value small = b.fma(b.mul(p, square), magnitude, magnitude);
  Value large =
      b.sub(b.f32(1), b.div(b.f32(2), b.add(b.exp(b.add(magnitude, magnitude)), b.f32(1))));
  Value isSmall = b.compare(CmpFPredicate::OLT, magnitude, b.f32(0.625));
  return b.create<math::CopySignOp>(b.select(isSmall, small, large), x);
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
               SinglePrecision<math::PowFOp, rewritePow>, SinglePrecision<math::SinOp, rewriteSin>,
               SinglePrecision<math::CosOp, rewriteCos>,
               Extremum<arith::MaximumFOp, CmpFPredicate::OGT>,
               Extremum<arith::MinimumFOp, CmpFPredicate::OLT>>(patterns.getContext());
}

//===- MathLanes.h - arithmetic for elementary functions -----------------------------------===//

#ifndef HALFSTEP_CODEGEN_MATHLANES_H
#define HALFSTEP_CODEGEN_MATHLANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

namespace halfstep::codegen {

using mlir::ArrayRef;
using mlir::Type;
using mlir::TypedAttr;
using mlir::Value;
using mlir::arith::CmpFPredicate;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// Scalar-or-vector arithmetic in the shape of one operation's type.
struct Lanes : mlir::ImplicitLocOpBuilder {
  Lanes(mlir::PatternRewriter &rewriter, mlir::Operation *op)
      : mlir::ImplicitLocOpBuilder(op->getLoc(), rewriter), shape(op->getResult(0).getType()) {}

  Type shape;

  Type of(Type element) {
    auto vector = mlir::dyn_cast<mlir::VectorType>(shape);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(TypedAttr value) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(of(value.getType())))
      return create<mlir::arith::ConstantOp>(mlir::DenseElementsAttr::get(vector, value));
    return create<mlir::arith::ConstantOp>(value);
  }
  Value f32(double value) { return constant(getF32FloatAttr(value)); }
  Value f64(double value) { return constant(getF64FloatAttr(value)); }
  Value i32(int64_t value) { return constant(getI32IntegerAttr(value)); }
  Value i64(int64_t value) { return constant(getI64IntegerAttr(value)); }
  /// A number of x's type.
  Value like(Value x, double value) {
    return mlir::getElementTypeOrSelf(x).isF32() ? f32(value) : f64(value);
  }

  Value add(Value x, Value y) { return create<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return create<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return create<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return create<mlir::arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) { return create<mlir::math::FmaOp>(x, y, z); }
  Value abs(Value x) { return create<mlir::math::AbsFOp>(x); }
  Value compare(CmpFPredicate predicate, Value x, Value y) {
    return create<mlir::arith::CmpFOp>(predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return create<mlir::arith::SelectOp>(condition, x, y);
  }
  Value bits(Value x) {
    bool isSingle = mlir::getElementTypeOrSelf(x).isF32();
    return create<mlir::arith::BitcastOp>(of(isSingle ? getI32Type() : getI64Type()), x);
  }
  Value fromBits(Value x) {
    bool isSingle = mlir::getElementTypeOrSelf(x).isInteger(32);
    return create<mlir::arith::BitcastOp>(of(isSingle ? getF32Type() : getF64Type()), x);
  }
  /// c0 + c1 x + c2 x^2 + ..., the coefficients from the highest power down.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = like(x, coefficients[0]);
    for (double c : coefficients.drop_front())
      sum = fma(sum, x, like(x, c));
    return sum;
  }
  Value addBits(Value x, Value y) { return create<mlir::arith::AddIOp>(x, y); }
  Value subtractBits(Value x, Value y) { return create<mlir::arith::SubIOp>(x, y); }
  Value andBits(Value x, Value y) { return create<mlir::arith::AndIOp>(x, y); }

  /// exp of f32.
  Value exp(Value x);
};

/// What operations on f32 are rewritten to, in MathInDouble.cpp.
Value rewritePow(Lanes &b, mlir::math::PowFOp op);
Value rewriteSin(Lanes &b, mlir::math::SinOp op);
Value rewriteCos(Lanes &b, mlir::math::CosOp op);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_MATHLANES_H

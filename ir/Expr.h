//===- Expr.h - The language of formulas ----------------------------------===//
//
// A gradient, a scalar body, an expansion and an optimizer are written as formulas over `Expr`. The
// same operators build train ops when the operands are tensors and arith/math ops when they are
// scalars, so that all formulas read alike. Constants take the type of the other operand; nothing
// else is converted implicitly.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_EXPR_H
#define HALFSTEP_IR_EXPR_H

#include "ir/Shape.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Value.h"

namespace halfstep::train {

enum class Comparison : uint32_t;

/// The type that elementwise work on `storage` is computed in: f32 for 16-bit floats, the type
/// itself otherwise.
mlir::Type computeType(mlir::Type storage);

/// A value with the builder that extends it. Null stands for "no derivative".
struct Expr {
  mlir::Value value;
  mlir::ImplicitLocOpBuilder *builder = nullptr;

  explicit operator bool() const { return bool(value); }
  bool isTensor() const { return mlir::isa<mlir::TensorType>(value.getType()); }
  mlir::Type elementType() const { return mlir::getElementTypeOrSelf(value.getType()); }
  llvm::ArrayRef<int64_t> sizes() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }
};

/// Makes expressions of values.
struct ExprBuilder {
  mlir::ImplicitLocOpBuilder &builder;
  Expr operator()(mlir::Value value) const { return {value, &builder}; }
};

inline const Expr inactive{};

/// `number` in the element type of `like`: a scalar, or a rank-0 tensor that broadcasts.
Expr constant(Expr like, double number);

Expr operator+(Expr, Expr);
Expr operator-(Expr, Expr);
Expr operator*(Expr, Expr);
Expr operator/(Expr, Expr);
Expr operator-(Expr);
Expr pow(Expr, Expr);
Expr maximum(Expr, Expr); // NaN if either is
Expr minimum(Expr, Expr);
Expr exp(Expr);
Expr log(Expr);
Expr sqrt(Expr);
Expr tanh(Expr);
Expr sin(Expr);
Expr cos(Expr);
Expr abs(Expr);
Expr erf(Expr);
Expr floor(Expr);
Expr roundEven(Expr);
/// exp(x) - 1, exact to the last bits near 0 too.
Expr expm1(Expr);
/// log(1 + x) for x >= 0, exact to the last bits near 0 too.
Expr log1p(Expr);
Expr sigmoid(Expr);
/// log(1 + exp(x)), without overflow.
Expr softplus(Expr);
Expr compare(Comparison, Expr, Expr);
Expr operator==(Expr, Expr);
Expr operator<(Expr, Expr);
Expr operator<=(Expr, Expr);
Expr operator>(Expr, Expr);
Expr operator>=(Expr, Expr);
Expr logicalAnd(Expr, Expr);
Expr logicalOr(Expr, Expr);
Expr logicalNot(Expr);
Expr select(Expr condition, Expr ifTrue, Expr ifFalse);
Expr convert(Expr, mlir::Type elementType);

inline Expr operator+(Expr a, double b) { return a + constant(a, b); }
inline Expr operator+(double a, Expr b) { return constant(b, a) + b; }
inline Expr operator-(Expr a, double b) { return a - constant(a, b); }
inline Expr operator-(double a, Expr b) { return constant(b, a) - b; }
inline Expr operator*(Expr a, double b) { return a * constant(a, b); }
inline Expr operator*(double a, Expr b) { return constant(b, a) * b; }
inline Expr operator/(Expr a, double b) { return a / constant(a, b); }
inline Expr operator/(double a, Expr b) { return constant(b, a) / b; }
inline Expr operator==(Expr a, double b) { return a == constant(a, b); }
inline Expr operator<(Expr a, double b) { return a < constant(a, b); }
inline Expr operator<=(Expr a, double b) { return a <= constant(a, b); }
inline Expr operator>(Expr a, double b) { return a > constant(a, b); }
inline Expr operator>=(Expr a, double b) { return a >= constant(a, b); }

//===----------------------------------------------------------------------===//
// Tensors only. Reductions keep the rank; axes need not be sorted.
//===----------------------------------------------------------------------===//

Expr sum(Expr, llvm::ArrayRef<int64_t> axes);
Expr max(Expr, llvm::ArrayRef<int64_t> axes);
Expr min(Expr, llvm::ArrayRef<int64_t> axes);
/// The sum of all elements, of rank 0.
Expr sumAll(Expr);
/// The number of elements that a reduction over `axes` combines.
double elementCount(Expr, llvm::ArrayRef<int64_t> axes);
/// `x` repeated to the shape of `like`.
Expr broadcast(Expr x, Expr like);
Expr reshape(Expr x, llvm::ArrayRef<int64_t> sizes);
inline Expr reshape(Expr x, Expr like) { return reshape(x, like.sizes()); }
Expr transpose(Expr x, llvm::ArrayRef<int64_t> permutation);
llvm::SmallVector<int64_t> inverse(llvm::ArrayRef<int64_t> permutation);
/// The part of `x`, of `sizes`, at `place`.
Expr slice(Expr x, const Place &place, llvm::ArrayRef<int64_t> sizes);
/// A tensor of `sizes` with `x` at `place` and the scalar `value` elsewhere.
Expr pad(Expr x, Expr value, const Place &place, llvm::ArrayRef<int64_t> sizes);
/// At least one operand, all of one builder.
Expr concat(llvm::ArrayRef<Expr> xs, int64_t axis);
Expr matmul(Expr a, Expr b, bool transA, bool transB);
/// i32 positions along `dimension`, of size 1 in the other dimensions of `like`.
Expr iota(Expr like, int64_t dimension);
Expr softmax(Expr x, int64_t axis);    // shifted by the maximum
Expr logSoftmax(Expr x, int64_t axis); // shifted by the maximum
Expr logSumExp(Expr x, llvm::ArrayRef<int64_t> axes); // shifted by the maximum

} // namespace halfstep::train

#endif

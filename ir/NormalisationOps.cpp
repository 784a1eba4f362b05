//===- NormalisationOps.cpp - Long rules of the norms ---------------------===//
//
// With n = (x - m) r, where m = mean(x) and r = 1 / sqrt(mean((x - m)^2) + epsilon) over the op's
// axes, a norm is y = n s + b and, for g = dy s, its adjoints are
//
//   dx = r (g - mean(g) - n mean(g n)),   ds = dy n,   db = dy.
//
// The RMS norm is the same without m: m = 0 does not depend on x, so that dx has no mean(g).
//
// Forward and backward share m and r, one number each a row, but each makes n anew, as part of one
// formula: what is kept for the backward pass is x, in the type that it is stored in.
//
//===----------------------------------------------------------------------===//

#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep::train;

namespace {
struct Norm {
  Expr x;
  ArrayRef<int64_t> axes;
  Expr mean; // null where x is not centred
  Expr rstd;

  static Norm centred(Expr x, ArrayRef<int64_t> axes, double epsilon) {
    // The second sum takes away the rounding of the first: equal numbers have themselves as mean,
    // however many there are.
    Expr first = average(x, axes);
    Expr mean = first + average(x - first, axes);
    Expr deviation = x - mean;
    return {x, axes, mean, 1.0 / sqrt(average(deviation * deviation, axes) + epsilon)};
  }
  static Norm rootMeanSquare(Expr x, ArrayRef<int64_t> axes, double epsilon) {
    return {x, axes, {}, 1.0 / sqrt(average(x * x, axes) + epsilon)};
  }

  static Expr average(Expr x, ArrayRef<int64_t> axes) {
    return sum(x, axes) / elementCount(x, axes);
  }

  /// `formula` of the elements of n, r and `others`, for all elements.
  Expr map(ArrayRef<Expr> others,
           llvm::function_ref<Expr(Expr n, Expr r, ArrayRef<Expr> others)> formula) const {
    SmallVector<Value> operands{x.value, rstd.value, mean ? mean.value : rstd.value};
    for (Expr other : others)
      operands.push_back(other.value);
    return buildMap(*x.builder, operands, Precision::Unrounded, x.sizes(), x.elementType(),
                    [&](ArrayRef<Expr> elements) -> SmallVector<Expr> {
                      Expr x = elements[0], r = elements[1], m = elements[2];
                      return {formula(mean ? (x - m) * r : x * r, r, elements.drop_front(3))};
                    })
        .front();
  }

  Expr dx(Expr dy, Expr scale) const {
    Expr g = dy * scale;
    Expr gn = map(g, [](Expr n, Expr, ArrayRef<Expr> g) { return g[0] * n; });
    SmallVector<Expr> parts{g, average(gn, axes)};
    if (mean)
      parts.push_back(average(g, axes));
    return map(parts, [&](Expr n, Expr r, ArrayRef<Expr> p) {
      Expr moved = mean ? p[0] - p[2] : p[0];
      return r * (moved - n * p[1]);
    });
  }
  Expr dscale(Expr dy) const {
    return map(dy, [](Expr n, Expr, ArrayRef<Expr> dy) { return dy[0] * n; });
  }
};
} // namespace

Expr NormaliseOp::expand(ExprBuilder &e) {
  return Norm::centred(e(getX()), getAxes(), getEpsilon().convertToDouble())
      .map({e(getScale()), e(getBias())},
           [](Expr n, Expr, ArrayRef<Expr> p) { return n * p[0] + p[1]; });
}
SmallVector<Expr> NormaliseOp::gradient(ExprBuilder &e, Expr dy) {
  Norm norm = Norm::centred(e(getX()), getAxes(), getEpsilon().convertToDouble());
  return {norm.dx(dy, e(getScale())), norm.dscale(dy), dy};
}

Expr RmsNormaliseOp::expand(ExprBuilder &e) {
  return Norm::rootMeanSquare(e(getX()), getAxes(), getEpsilon().convertToDouble())
      .map(e(getScale()), [](Expr n, Expr, ArrayRef<Expr> p) { return n * p[0]; });
}
SmallVector<Expr> RmsNormaliseOp::gradient(ExprBuilder &e, Expr dy) {
  Norm norm = Norm::rootMeanSquare(e(getX()), getAxes(), getEpsilon().convertToDouble());
  return {norm.dx(dy, e(getScale())), norm.dscale(dy)};
}

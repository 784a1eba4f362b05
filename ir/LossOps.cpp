//===- LossOps.cpp - Long rules of the losses -----------------------------===//
//
// Cross-entropy, as torch.nn.functional.cross_entropy defines it. With p = softmax(x) over C
// classes and smoothing s, the target distribution is t = (1 - s) onehot(label) + s / C (class ids)
// or t = (1 - s) label + s / C (soft targets), and the loss of a sample is -sum_c t_c log p_c.
// Because sum_c t_c = T (1 for class ids), that is T logsumexp(x) - sum_c t_c x_c: no logarithm of
// a small number, and the adjoint of x is T p - t.
//
//===----------------------------------------------------------------------===//

#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep::train;

namespace {
struct CrossEntropy {
  mutable CrossEntropyOp op; // generated accessors are not const
  Expr x, label;
  int64_t axis;
  double classes, smoothing;

  CrossEntropy(CrossEntropyOp op, ExprBuilder &e)
      : op(op), x(e(op.getX())), label(e(op.getLabel())), axis(op.getAxis()),
        classes(double(x.sizes()[axis])), smoothing(op.getLabelSmoothing().convertToDouble()) {}

  bool hasClassIds() const { return isa<IntegerType>(label.elementType()); }

  /// Class ids as i32, with the class axis of size 1.
  Expr ids() const {
    SmallVector<int64_t> sizes(x.sizes());
    sizes[axis] = 1;
    return convert(reshape(label, sizes), IntegerType::get(op.getContext(), 32));
  }
  /// The target distribution t.
  Expr target() const {
    Expr zero = constant(x, smoothing / classes);
    if (hasClassIds())
      return select(iota(x, axis) == ids(), constant(x, 1.0 - smoothing + smoothing / classes),
                    zero);
    return smoothing == 0.0 ? label : label * (1.0 - smoothing) + zero;
  }
  /// sum_c t_c x_c. A class that is not the target contributes no product: its logit may be -inf.
  Expr targetLogit() const {
    if (!hasClassIds())
      return sum(target() * x, {axis});
    Expr picked = sum(select(iota(x, axis) == ids(), x, constant(x, 0.0)), {axis});
    if (smoothing == 0.0)
      return picked;
    return picked * (1.0 - smoothing) + sum(x, {axis}) * (smoothing / classes);
  }
  /// Null when every sample counts.
  Expr counts() const {
    if (!hasClassIds() || !op.getIgnoreIndex())
      return {};
    return logicalNot(ids() == double(*op.getIgnoreIndex()));
  }
  /// Divides a sum over samples into the loss.
  Expr normalise(Expr total) const {
    if (op.getReduction() == LossReduction::Sum)
      return total;
    if (Expr used = counts())
      return total / sumAll(convert(used, x.elementType()));
    return total / (double(ShapedType::getNumElements(x.sizes())) / classes);
  }
};
} // namespace

Expr CrossEntropyOp::expand(ExprBuilder &e) {
  CrossEntropy loss(*this, e);
  Expr maximum = max(loss.x, {loss.axis});
  Expr logSumExp = log(sum(exp(loss.x - maximum), {loss.axis})) + maximum;
  if (!loss.hasClassIds())
    logSumExp = logSumExp * sum(loss.target(), {loss.axis});
  Expr sample = logSumExp - loss.targetLogit();
  if (Expr used = loss.counts())
    sample = select(used, sample, constant(sample, 0.0));
  return loss.normalise(sumAll(sample));
}

Expr AccuracyOp::expand(ExprBuilder &e) {
  Expr x = e(getX());
  int64_t axis = getAxis();
  SmallVector<int64_t> sizes(x.sizes());
  double classes = double(std::exchange(sizes[axis], 1));
  Expr position = iota(x, axis);
  Expr candidates = select(x == max(x, {axis}), position, constant(position, classes));
  Expr best = min(candidates, {axis});
  Expr ids = convert(reshape(e(getLabel()), sizes), best.elementType());
  Expr hits = sumAll(convert(best == ids, x.elementType()));
  if (!getIgnoreIndex()) // an ignored id is no class and never hit
    return hits / double(ShapedType::getNumElements(sizes));
  Expr counts = logicalNot(ids == double(*getIgnoreIndex()));
  return hits / sumAll(convert(counts, x.elementType()));
}

SmallVector<Expr> CrossEntropyOp::gradient(ExprBuilder &e, Expr dy) {
  CrossEntropy loss(*this, e);
  Expr target = loss.target();
  Expr probability = softmax(loss.x, loss.axis);
  if (!loss.hasClassIds())
    probability = probability * sum(target, {loss.axis});
  Expr dx = (probability - target) * loss.normalise(dy);
  if (Expr used = loss.counts())
    dx = select(used, dx, constant(dx, 0.0));
  // Soft targets are data: a label carries no adjoint.
  return {dx, inactive};
}

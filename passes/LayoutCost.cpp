//===- LayoutCost.cpp - What an op costs in either layout -----------------===//
//
// The runtime's kernels, as bench/windows measures them on one core of a Zen 4 (bench/README.md). A
// convolution is a matrix product, which is as fast in either layout, and the gathering of its
// patches: a few nanoseconds for each run of adjacent numbers, and little for each number. A run is
// a row of outputs where channels come first; where they come last, it is a row of points of the
// window with all their channels. A pooling is what it reads, and the same for runs.
//
//===----------------------------------------------------------------------===//

#include "passes/LayoutCost.h"
#include "ir/TrainDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
enum class Kind { Forward, InputGradient, WeightGradient };

LayoutCost convolutionCost(RankedTensorType x, RankedTensorType w, RankedTensorType y,
                           ArrayRef<int64_t> dilations, int64_t groups, Kind kind) {
  // A multiply-add of a product: 112 GFLOP/s; bf16 has twice that, f16 is widened.
  double product = w.getElementType().isBF16() ? 0.009 : 0.018;
  int64_t channels = w.getDimSize(1), filters = w.getDimSize(0) / groups;
  double patches = double(y.getNumElements()) / filters * channels *
                   ShapedType::getNumElements(w.getShape().drop_front(2));
  double weights = w.getNumElements();
  LayoutCost cost;
  double row = y.getShape().back();
  // A window of one point that moves by one reads x where it is.
  bool gathers = x.getShape().drop_front(2) != y.getShape().drop_front(2) ||
                 ShapedType::getNumElements(w.getShape().drop_front(2)) != 1;
  cost.channelsFirst = patches * (filters * product + (gathers ? 0.2 + 9 / row : 0));
  // Weight gradients are summed up transposed.
  if (kind == Kind::WeightGradient)
    cost.channelsFirst += patches * (0.1 + 4 / row) + 10 * weights;

  // Loops over vectors of channels take the place of products.
  constexpr int64_t vector = 8;
  if (channels == 1 && filters == 1 && groups >= vector) {
    cost.channelsLast = 0.1 * patches;
  } else {
    bool isOneRun = groups == 1 && dilations.back() == 1;
    double run = channels * (isOneRun ? w.getShape().back() : 1);
    double gathering = gathers ? 0.12 + 4.5 / run : 0;
    // Patches are added to the gradient: it is read as well.
    cost.channelsLast =
        patches * (filters * product + (kind == Kind::InputGradient ? 2 : 1) * gathering);
  }
  cost.channelsLast += transpositionCost(w);
  return cost;
}

LayoutCost poolingCost(RankedTensorType x, RankedTensorType y, ArrayRef<int64_t> kernel,
                       bool isAdjoint) {
  double reads = double(y.getNumElements()) * ShapedType::getNumElements(kernel);
  double channels = x.getDimSize(1), row = y.getShape().back();
  if (isAdjoint)
    return {2.2 * reads, reads * (0.8 + 14 / channels)};
  return {reads * (0.4 + 3 / row), reads * (0.15 + 8 / channels)};
}
} // namespace

LayoutCost halfstep::layoutCost(Operation *op) {
  auto result = [&] { return typeOf(op->getResult(0)); };
  return TypeSwitch<Operation *, LayoutCost>(op)
      .Case([&](ConvOp conv) {
        return convolutionCost(typeOf(conv.getX()), typeOf(conv.getW()), result(),
                               conv.getDilations(), conv.getGroups(), Kind::Forward);
      })
      .Case([&](ConvInputGradientOp conv) {
        return convolutionCost(result(), typeOf(conv.getW()), typeOf(conv.getDy()),
                               conv.getDilations(), conv.getGroups(), Kind::InputGradient);
      })
      .Case([&](ConvWeightGradientOp conv) {
        return convolutionCost(typeOf(conv.getX()), result(), typeOf(conv.getDy()),
                               conv.getDilations(), conv.getGroups(), Kind::WeightGradient);
      })
      .Case<MaxPoolOp, AveragePoolOp>([&](auto pool) {
        return poolingCost(typeOf(pool.getX()), result(), pool.getKernel(), false);
      })
      .Case<MaxPoolGradientOp, AveragePoolGradientOp>([&](auto pool) {
        return poolingCost(result(), typeOf(pool.getDy()), pool.getKernel(), true);
      })
      .Default(LayoutCost());
}

double halfstep::transpositionCost(RankedTensorType type) {
  constexpr double perNumber = 0.5;
  int64_t spatial = ShapedType::getNumElements(type.getShape().drop_front(2));
  return spatial == 1 || type.getDimSize(1) == 1 ? 0 : perNumber * type.getNumElements();
}

//===- LayoutCost.cpp - What an op costs in either layout -----------------===//
//
// For the CPU: the runtime's kernels, as bench/windows measures them on one core of a Zen 4
// (bench/README.md). A convolution is a matrix product, which is as fast in either layout, and the
// gathering of its patches: a few nanoseconds for each run of adjacent numbers, and little for each
// number. A run is a row of outputs where channels come first; where they come last, it is a row of
// points of the window with all their channels. A pooling is what it reads, and the same for runs.
//
// For CUDA: tensor cores multiply 16-bit numbers where channels come last in whole groups of eight;
// everything else is as fast in either layout. Rates are of an A100's order (312 TFLOP/s on tensor
// cores, 19.5 without, 2 TB/s, by its data sheet), of which kernels reach a half.
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
  cost.channelsLast += transpositionCost(w, Executor::Cpu);
  return cost;
}

LayoutCost cudaConvolutionCost(RankedTensorType w, RankedTensorType y, int64_t groups) {
  constexpr double product = 0.0002, onTensorCores = 0.000013;
  constexpr int64_t channelGroup = 8;
  double products = double(y.getNumElements()) * w.getNumElements() / w.getDimSize(0);
  bool isForTensorCores = w.getElementTypeBitWidth() == 16 && w.getDimSize(1) % channelGroup == 0 &&
                          w.getDimSize(0) / groups % channelGroup == 0;
  return {products * product, products * (isForTensorCores ? onTensorCores : product)};
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

LayoutCost halfstep::layoutCost(Operation *op, Executor executor) {
  auto result = [&] { return typeOf(op->getResult(0)); };
  auto convolution = [&](RankedTensorType x, RankedTensorType w, RankedTensorType y, auto conv,
                         Kind kind) {
    return executor == Executor::Cuda
               ? cudaConvolutionCost(w, y, conv.getGroups())
               : convolutionCost(x, w, y, conv.getDilations(), conv.getGroups(), kind);
  };
  auto pooling = [&](RankedTensorType x, RankedTensorType y, auto pool, bool isAdjoint) {
    return executor == Executor::Cuda ? LayoutCost()
                                      : poolingCost(x, y, pool.getKernel(), isAdjoint);
  };
  return TypeSwitch<Operation *, LayoutCost>(op)
      .Case([&](ConvOp conv) {
        return convolution(typeOf(conv.getX()), typeOf(conv.getW()), result(), conv, Kind::Forward);
      })
      .Case([&](ConvInputGradientOp conv) {
        return convolution(result(), typeOf(conv.getW()), typeOf(conv.getDy()), conv,
                           Kind::InputGradient);
      })
      .Case([&](ConvWeightGradientOp conv) {
        return convolution(typeOf(conv.getX()), result(), typeOf(conv.getDy()), conv,
                           Kind::WeightGradient);
      })
      .Case<MaxPoolOp, AveragePoolOp>(
          [&](auto pool) { return pooling(typeOf(pool.getX()), result(), pool, false); })
      .Case<MaxPoolGradientOp, AveragePoolGradientOp>(
          [&](auto pool) { return pooling(result(), typeOf(pool.getDy()), pool, true); })
      .Default(LayoutCost());
}

double halfstep::transpositionCost(RankedTensorType type, Executor executor) {
  int64_t spatial = ShapedType::getNumElements(type.getShape().drop_front(2));
  if (spatial == 1 || type.getDimSize(1) == 1)
    return 0;
  // On CUDA each number is read and written once.
  double perNumber =
      executor == Executor::Cuda ? 2 * type.getElementTypeBitWidth() / 8.0 / 1000 : 0.5;
  return perNumber * type.getNumElements();
}

//===- LayoutCost.h - What an op costs in either layout -------------------===//

#ifndef HALFSTEP_PASSES_LAYOUTCOST_H
#define HALFSTEP_PASSES_LAYOUTCOST_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace halfstep {

/// What executes an op: one core of the CPU, or a CUDA device.
enum class Executor { Cpu, Cuda };

/// Nanoseconds of the executor.
struct LayoutCost {
  double channelsFirst = 0, channelsLast = 0;

  LayoutCost &operator+=(const LayoutCost &other) {
    channelsFirst += other.channelsFirst;
    channelsLast += other.channelsLast;
    return *this;
  }
};

/// The cost of an op whose windows slide over logical tensors, channels in second place; zero for
/// any other op.
LayoutCost layoutCost(mlir::Operation *op, Executor executor);

/// The cost of bringing a tensor from one layout to the other; 0 where both are the same.
double transpositionCost(mlir::RankedTensorType type, Executor executor);

} // namespace halfstep

#endif

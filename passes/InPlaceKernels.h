//===- InPlaceKernels.h - Kernels that write where they read --------------===//

#ifndef HALFSTEP_PASSES_INPLACEKERNELS_H
#define HALFSTEP_PASSES_INPLACEKERNELS_H

#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace halfstep {

/// Result `result` of a launch is computed in the memory of its argument `argument`.
struct Sharing {
  unsigned argument, result;

  bool operator==(const Sharing &other) const {
    return argument == other.argument && result == other.result;
  }
};
/// By launch, in program order.
using Sharings = llvm::MapVector<mlir::Operation *, llvm::SmallVector<Sharing>>;

/// Whether `op` is the launch of a kernel that may share so, given what it shares already.
bool canShare(mlir::Operation *op, Sharing sharing, const Sharings &existing);

/// Changes the kernels of the launches to work in place:
///
///   kernel.group @relu [8](%x: f32[1]) -> (f32[1])      =>      @relu [8](%x: f32[1]) -> (%x)
///
/// Launches of one kernel that do not share alike get a kernel each.
void makeKernelsInPlace(mlir::ModuleOp module, const Sharings &sharings);

} // namespace halfstep

#endif

//===- FlatLayout.h - Trained parameters as one tensor --------------------===//
//
// Elementwise optimizers walk all trained parameters as one flat tensor, and so do the gradient
// norm and the finite check: a handful of kernels whatever the number of weights. Parameters,
// their 16-bit copies, gradients and every optimizer slot have the same layout, each in a region of
// its own and in a type of its own.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_FLATLAYOUT_H
#define HALFSTEP_PASSES_FLATLAYOUT_H

#include "ir/TableDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace halfstep {

/// A region of every layout.
struct FlatRegion {
  std::string name; // with the layout's suffix
  table::Role role; // of the tensors in it
  std::string prefix; // of their names
  mlir::Type elementType;
};

/// Trained parameters of one combination of types, in order, each at a 256-byte boundary of every
/// region.
struct FlatLayout {
  struct Entry {
    std::string name;
    llvm::SmallVector<int64_t> sizes;
    int64_t offset; // in elements
  };

  mlir::Type parameterType; // what the optimizer updates: the master where there is a copy
  mlir::Type copyType;      // 16-bit copy that forward and backward read, or null
  mlir::Type gradientType;  // as the backward pass makes it
  mlir::Type accumulatorType; // as it is kept: wider where micro-batches are added up
  std::string suffix;       // of region names: "" for the first layout
  std::vector<Entry> entries;
  int64_t elements = 0; // with padding, which is and stays zero

  /// Parameters first, then the copies if there are, gradients, and one region for each slot.
  std::vector<FlatRegion> regions(llvm::ArrayRef<std::string> slots) const;
  /// Whether what the optimizer updates is stored in 16 bits.
  bool isNarrow() const { return parameterType.getIntOrFloatBitWidth() < 32; }
  mlir::RankedTensorType type(mlir::Type elementType) const {
    return mlir::RankedTensorType::get({elements}, elementType);
  }
};

/// The layouts of the trained parameters among the arguments of `micro`, one for each combination
/// of types. Gradients that several micro-batches add to are kept in f32 or wider if `widenSums`.
std::vector<FlatLayout> layOutParameters(mlir::func::FuncOp micro, bool widenSums);

} // namespace halfstep

#endif

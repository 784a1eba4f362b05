//===- FlatLayout.h - Trained parameters as one tensor --------------------===//
//
// Elementwise optimizers walk all trained parameters as one flat tensor, and so do the gradient
// norm and the finite check: a handful of kernels whatever the number of weights. Parameters,
// gradients and every optimizer slot have the same layout, each in a region of its own.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_FLATLAYOUT_H
#define HALFSTEP_PASSES_FLATLAYOUT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace halfstep {

/// The trained parameters of one storage type, in order, each at a 256-byte boundary.
struct FlatLayout {
  struct Entry {
    std::string name;
    mlir::RankedTensorType type;
    int64_t offset; // in elements
  };

  mlir::Type elementType;
  std::string suffix; // of region names: "" for the first type, then ".f64" and the like
  std::vector<Entry> entries;
  int64_t elements = 0; // with padding, which is and stays zero

  std::string region(llvm::StringRef name) const { return name.str() + suffix; }
  mlir::RankedTensorType type() const {
    return mlir::RankedTensorType::get({elements}, elementType);
  }
  int64_t elementBytes() const { return elementType.getIntOrFloatBitWidth() / 8; }
};

/// The layouts of the trained parameters among the arguments of `function`, one per storage type.
std::vector<FlatLayout> layOutParameters(mlir::func::FuncOp function);

} // namespace halfstep

#endif

//===- BiasedProduct.h - Products that an addition finishes ---------------===//

#ifndef HALFSTEP_PASSES_BIASEDPRODUCT_H
#define HALFSTEP_PASSES_BIASEDPRODUCT_H

#include "ir/TrainDialect.h"

namespace halfstep {

/// op(a) op(b) + bias.
struct BiasedProduct {
  train::MatmulOp matmul;
  mlir::Value bias; // in memory: an element for each column
};

/// `op` as the end of a product, if it adds a bias to one that nobody else reads. Products add
/// their bias before they round. That differs from a product and a sum in 16-bit types: there the
/// addition has to be in the category of products, as ONNX's Gemm makes it.
std::optional<BiasedProduct> biasedProduct(mlir::Operation *op);

/// Whether a reader of `matmul` is the end of it.
bool isFinishedByReader(train::MatmulOp matmul);

} // namespace halfstep

#endif

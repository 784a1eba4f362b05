//===- OnnxWeights.h - Weights in and out of an ONNX graph ----------------===//

#ifndef HALFSTEP_FRONTEND_ONNXWEIGHTS_H
#define HALFSTEP_FRONTEND_ONNXWEIGHTS_H

#include "frontend/TensorProto.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>
#include <vector>

namespace halfstep {

using WeightTensors = std::vector<std::shared_ptr<const onnx::TensorProto>>;

/// Calls `visit` with the name and tensor of every weight of `graph`: float initializers, then
/// float Constant nodes of rank 1 or more. A visitor may change tensors in place; `value_floats` of
/// a Constant node come as a temporary tensor whose float_data is stored back.
void forEachWeight(onnx::GraphProto &graph,
                   llvm::function_ref<void(const std::string &name, onnx::TensorProto &)> visit);

/// Moves the weights out of `graph`, each under its name. What remains sees them as graph inputs of
/// known shape.
WeightTensors extractWeights(onnx::GraphProto &graph);

/// onnx's tools look for external data in the working directory. What is not a weight is small
/// (shapes, indices) and needed by them, so it is brought into the message.
llvm::LogicalResult embedExternalTensors(onnx::GraphProto &graph, ExternalData &externalData,
                                         mlir::MLIRContext *context);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_ONNXWEIGHTS_H

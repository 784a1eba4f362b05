//===- OnnxFile.h - A checked ONNX file, weights apart --------------------===//
//
// The first thing after parsing is to move the weights out: onnx's checker, inliner and version
// converter copy models as they please, and a message may not exceed 2 GiB. What remains in the
// graph sees each weight as a graph input of known shape.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_ONNXFILE_H
#define HALFSTEP_FRONTEND_ONNXFILE_H

#include "frontend/OnnxWeights.h"
#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"

#include <memory>
#include <string>
#include <vector>

namespace halfstep {

/// Oldest operator set that is imported as it is; older ones go through onnx's version converter.
constexpr int64_t oldestOpset = 7;
/// Newest operator set of the linked onnx.
int64_t newestOpset();

struct OnnxFile {
  std::string path;
  onnx::ModelProto model;
  int64_t opset = 0;
  /// Float initializers, then float Constant nodes of rank 1 or more, named as in the graph.
  WeightTensors weights;
  /// Of the graph's structure and the weights' types, not their values: the same for every batch
  /// size and every checkpoint of one model.
  std::string graphHash;

  const onnx::GraphProto &graph() const { return model.graph(); }
};

/// Where errors about a whole file are reported.
mlir::Location fileLocation(mlir::MLIRContext *context, llvm::StringRef path);

/// Parses `path` and nothing more. Missing, empty, truncated, oversized and foreign files are
/// errors.
llvm::FailureOr<std::unique_ptr<onnx::ModelProto>> parseOnnx(llvm::StringRef path,
                                                             mlir::Location loc);

/// Parses `path`, moves the weights out, inlines local functions and converts operator sets older
/// than `oldestOpset`.
llvm::FailureOr<OnnxFile> readOnnxFile(mlir::MLIRContext *context, llvm::StringRef path,
                                       ExternalData &externalData);

/// The nodes that an output of `graph` depends on, in the graph's order.
std::vector<const onnx::NodeProto *> liveNodes(const onnx::GraphProto &graph);

/// The standard operator set that `model` is written in.
llvm::FailureOr<int64_t> opsetOf(const onnx::ModelProto &model, mlir::Location loc);

/// The folder of a model's external tensors: `given`, or else that of the model.
std::string externalDataFolder(llvm::StringRef modelPath, llvm::StringRef given);

/// onnx's own checker.
llvm::LogicalResult checkOnnx(const OnnxFile &file, mlir::Location loc);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_ONNXFILE_H

//===- FileSummary.h - What an ONNX file says before it is imported -------===//
//
// For models that cannot be imported, or that an exporter has made less of than they were:
// PyTorch's exporters optimise for inference unless told otherwise, and what they take from a model
// shows in its names and nodes.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_FILESUMMARY_H
#define HALFSTEP_FRONTEND_FILESUMMARY_H

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace halfstep {

/// A graph input, output or weight, as the file describes it.
struct FileTensor {
  std::string name;
  std::string element;            // "f32"
  std::vector<std::string> sizes; // numbers, names, or "?"
};

/// What an exporter took from a model, or may have: only what the file shows.
struct ExportLoss {
  std::string subject; // a node, a weight or an input; empty: the whole model
  std::string what;
};

struct FileSummary {
  std::vector<FileTensor> inputs, outputs, weights;
  std::vector<ExportLoss> lost;
};

/// Errors are those of reading the file, not of its nodes.
llvm::FailureOr<FileSummary> summariseFile(mlir::MLIRContext &context, llvm::StringRef path,
                                           llvm::StringRef externalData);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_FILESUMMARY_H

//===- Dimensions.h - Sizes for symbolic dimensions -----------------------===//
//
// Everything behind the import has static shapes, so every symbolic dimension of a graph input gets
// a size here: by name from the command line, or from the batch size when it leads an input.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_DIMENSIONS_H
#define HALFSTEP_FRONTEND_DIMENSIONS_H

#include "frontend/Importer.h"
#include "frontend/OnnxFile.h"

namespace halfstep {

/// A graph input that data is fed to.
struct GraphInput {
  std::string name;
  mlir::RankedTensorType type;
};

struct BoundGraph {
  std::vector<GraphInput> inputs;
  std::vector<DimensionBinding> dimensions;
  /// The leading dimension of the first input that has one; 1 when none has.
  int64_t batch = 1;
};

/// Replaces every symbolic dimension of the graph's inputs in `file` by its size.
llvm::FailureOr<BoundGraph> bindDimensions(OnnxFile &file, const ImportOptions &options,
                                           mlir::MLIRContext *context);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_DIMENSIONS_H

//===- Importer.h - From an ONNX file to the train dialect ----------------===//
//
// The import phase. Its result is one function, @forward, of static shapes and the file's own
// types, every op of which is located at the ONNX node that it came from:
//
//   func.func @forward(%x: tensor<16x10xf32> {train.input = "x"},
//                      %w: tensor<10x10xf32> {train.parameter = "0.weight", train.trainable})
//       -> (tensor<16x1xf32> {train.output = "y"})
//
// Graph inputs come first, then the parameters: the float weights that the graph reads, in the
// file's order, then constants that are not one number repeated, which are not trainable.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_IMPORTER_H
#define HALFSTEP_FRONTEND_IMPORTER_H

#include "frontend/Weight.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halfstep {

struct ImportOptions {
  /// Size of the leading dimension of the graph inputs (--batch).
  std::optional<int64_t> batch;
  /// Sizes of named dimensions (--bind NAME=N).
  std::map<std::string, int64_t> bindings;
  /// Size of the symbolic dimensions that have none by then; nothing: they are errors.
  std::optional<int64_t> assumedSize;
  /// Folder of external data (--external-data); empty: the folder of the model.
  std::string externalData;
};

/// A symbolic dimension and the size it got. The name is empty for an unnamed leading dimension.
struct DimensionBinding {
  std::string name;
  int64_t size;
  bool isLeading; // of the input that it appears in first: --batch sets it
  bool isAssumed; // see ImportOptions::assumedSize
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// One for each train.parameter of @forward, in argument order.
  std::vector<Weight> weights;
  /// The files that were read: the model's, then those of its external data.
  std::vector<std::string> files;
  /// The symbolic dimensions of the file, in order of appearance.
  std::vector<DimensionBinding> dimensions;
};

/// Reads, checks and imports the model in `path`. Errors are diagnostics: at a FileLineColLoc of
/// the file, at a NameLoc of a node, weight or input, or at `commandLineLocation` when an option is
/// at fault. Nodes that cannot be imported are reported together.
mlir::FailureOr<ImportedModel> importOnnx(mlir::MLIRContext &context, llvm::StringRef path,
                                          const ImportOptions &options);

/// The location of errors in `subject` (a graph input or option) that the command line can mend.
mlir::Location commandLineLocation(mlir::MLIRContext *context, llvm::StringRef subject);
bool isCommandLineLocation(mlir::Location loc);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_IMPORTER_H

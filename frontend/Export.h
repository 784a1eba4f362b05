//===- Export.h - Trained weights back into an ONNX file ------------------===//
//
// The exported file is the model's own file with other weight bytes: graph, names, metadata and the
// form in which each tensor is stored stay as they were.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_EXPORT_H
#define HALFSTEP_FRONTEND_EXPORT_H

#include "frontend/Weight.h"

namespace halfstep {

/// Writes the model in `modelPath` with `weights` to `outPath`. Every weight must be one of the
/// model's, of its shape and type, and every weight that the model computes with must be given;
/// constants that the import computed are ignored.
/// Tensors that are stored outside the file go to `outPath`.data. Either both files are complete or
/// the old ones, if any, stand. `externalData` is the folder of the model's own external tensors
/// when it is not the model's. Throws runtime::Error where a file cannot be written.
llvm::LogicalResult exportModel(mlir::MLIRContext &context, llvm::StringRef modelPath,
                                llvm::ArrayRef<Weight> weights, llvm::StringRef outPath,
                                llvm::StringRef externalData = "");

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_EXPORT_H

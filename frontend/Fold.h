//===- Fold.h - Arithmetic on shapes, done while importing ----------------===//
//
// Exporters spell shapes as graphs: Shape, Gather, Mul, Concat, Reshape. With static shapes all of
// it is known when compiling. Nodes whose operands are constants are computed here; weights never
// are constants, so nothing that is trained is folded.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_FOLD_H
#define HALFSTEP_FRONTEND_FOLD_H

#include "frontend/OpBinder.h"

namespace halfstep {

using FoldFunction = llvm::FailureOr<mlir::DenseElementsAttr> (*)(OpBinder &);

struct Folder {
  llvm::StringLiteral op;
  FoldFunction fold;
};
llvm::ArrayRef<Folder> elementwiseFolders();
llvm::ArrayRef<Folder> movementFolders();
llvm::ArrayRef<Folder> creationFolders();

/// The folder of an ONNX op; null when it has none.
FoldFunction folderOf(llvm::StringRef op);

/// True when everything that the folder of the binder's node reads is known.
bool isFoldable(OpBinder &b);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_FOLD_H

//===- Fold.cpp - Arithmetic on shapes, done while importing --------------===//

#include "frontend/Fold.h"

using namespace mlir;

namespace halfstep {

FoldFunction folderOf(StringRef op) {
  static const llvm::StringMap<FoldFunction> table = [] {
    llvm::StringMap<FoldFunction> table;
    for (ArrayRef<Folder> family : {elementwiseFolders(), movementFolders(), creationFolders()})
      for (const Folder &folder : family)
        table[folder.op] = folder.fold;
    return table;
  }();
  return table.lookup(op);
}

bool isFoldable(OpBinder &b) {
  StringRef op = b.node.op_type();
  if (!folderOf(op))
    return false;
  if (op == "Shape" || op == "Size")
    return true; // of any tensor: shapes are static
  for (unsigned i = 0; i < b.size(); ++i) {
    if (!b.has(i))
      continue;
    Binding *operand = b.scope.lookup(b.node.input(i));
    if (!operand || !operand->constant)
      return false;
  }
  // Sums of float constants belong to the step, whose reductions have one order.
  DenseElementsAttr first = b.constant(0);
  return !op.starts_with("Reduce") || (first && isa<IntegerType>(first.getElementType()));
}

} // namespace halfstep

//===- FoldElements.h - The numbers of a constant -------------------------===//
//
// Constants are DenseElementsAttr; folding reads them as int64_t or double and makes new ones.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_FOLDELEMENTS_H
#define HALFSTEP_FRONTEND_FOLDELEMENTS_H

#include "frontend/Fold.h"
#include "llvm/ADT/APFloat.h"

namespace halfstep::fold {

using Folded = mlir::FailureOr<mlir::DenseElementsAttr>;

inline bool isFloat(mlir::DenseElementsAttr constant) {
  return mlir::isa<mlir::FloatType>(constant.getElementType());
}
inline mlir::RankedTensorType typeOf(mlir::DenseElementsAttr constant) {
  return mlir::cast<mlir::RankedTensorType>(constant.getType());
}

/// The elements as T: int64_t for integers and booleans, double for floats. A splat has one.
template <typename T> llvm::SmallVector<T> elements(mlir::DenseElementsAttr constant);

/// A constant of all elements, or of one that is repeated. Integers wrap, doubles are rounded to
/// the element type.
template <typename T>
mlir::DenseElementsAttr make(mlir::RankedTensorType type, llvm::ArrayRef<T> numbers);

/// An int64 vector.
mlir::DenseElementsAttr vectorOf(OpBinder &b, llvm::ArrayRef<int64_t> values);
/// An int64 tensor of rank 0.
mlir::DenseElementsAttr scalarOf(OpBinder &b, int64_t value);

/// Element i of the result is element source[i] of `from`.
mlir::DenseElementsAttr pick(mlir::DenseElementsAttr from, mlir::RankedTensorType type,
                             llvm::ArrayRef<int64_t> source);

/// Row-major strides.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> sizes);
/// The offsets that visiting `sizes` in row-major order gives with `strides`.
llvm::SmallVector<int64_t> offsets(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                   int64_t start = 0);
/// The offsets of a tensor of shape `from` that is broadcast to `sizes`.
llvm::SmallVector<int64_t> broadcastOffsets(llvm::ArrayRef<int64_t> from,
                                            llvm::ArrayRef<int64_t> sizes);

/// All operands, which must have one element type.
mlir::FailureOr<llvm::SmallVector<mlir::DenseElementsAttr>> constants(OpBinder &b);

} // namespace halfstep::fold

#endif // HALFSTEP_FRONTEND_FOLDELEMENTS_H

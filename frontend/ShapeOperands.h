//===- ShapeOperands.h - The shapes and axes that nodes ask for -----------===//
//
// What Reshape, Squeeze, ReduceSum and their kin say about shapes, in every operator set: as an
// attribute in older ones, as an operand in newer ones. Shared by the import rules, which build
// ops, and by folding, which computes constants.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_SHAPEOPERANDS_H
#define HALFSTEP_FRONTEND_SHAPEOPERANDS_H

#include "frontend/OpBinder.h"

namespace halfstep {

using Sizes = llvm::FailureOr<llvm::SmallVector<int64_t>>;

/// The product of `sizes`; nothing when one is negative or the product overflows.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> sizes);

/// Reshape: 0 copies a dimension (unless allowzero), one -1 takes what is left.
Sizes reshapedSizes(OpBinder &b);
/// Flatten: two dimensions, split before `axis`.
Sizes flattenedSizes(OpBinder &b);
/// Squeeze: without the named axes, or without every axis of size 1.
Sizes squeezedSizes(OpBinder &b);
/// Unsqueeze: with axes of size 1, counted in the result.
Sizes unsqueezedSizes(OpBinder &b);
/// Expand: the shape that the operand and the wanted shape broadcast to.
Sizes expandedSizes(OpBinder &b);
/// Transpose: `perm`, or all dimensions reversed.
Sizes permutationOf(OpBinder &b, int64_t rank);
/// Where a part lies in a tensor, see train.slice.
struct Part {
  /// All of a tensor of sizes `whole`.
  explicit Part(llvm::ArrayRef<int64_t> whole)
      : offsets(whole.size(), 0), strides(whole.size(), 1), sizes(whole) {}
  llvm::SmallVector<int64_t> offsets, strides, sizes;
};
/// Slice: positions counted from the end and clamped as ONNX does. A size may be 0.
llvm::FailureOr<Part> slicedPart(OpBinder &b, mlir::RankedTensorType x);
/// Split: the sizes of all outputs along a dimension of `size`.
Sizes splitSizes(OpBinder &b, int64_t size);
/// Pad: how much, for each of `rank` dimensions; negative numbers crop.
struct Pads {
  llvm::SmallVector<int64_t> front, behind;
};
llvm::FailureOr<Pads> padsOf(OpBinder &b, int64_t rank);
/// Reductions: ascending axes; all when none are named, none with noop_with_empty_axes.
Sizes reducedAxes(OpBinder &b, int64_t rank);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_SHAPEOPERANDS_H

//===- ConvolutionWalk.cpp - A group, walked by a convolution's axes ------===//

#include "passes/ConvolutionWalk.h"

using namespace mlir;
using namespace halfstep;
using kernel::GroupOp;
using kernel::IndexOp;

namespace {
/// A part of a dimension of the group that lies in one axis.
struct Piece {
  int64_t step, size; // of positions in the axis
  SmallVector<int64_t> strides;
  bool isReduced;
};
} // namespace

/// Strides of y along the axes, as it is in memory.
static ConvolutionWalk::ByAxis stridesOf(const ConvolutionWalk::ByAxis &sizes, bool channelsLast) {
  int64_t image = sizes[kPosition] * sizes[kChannel];
  if (channelsLast)
    return {image, sizes[kChannel], 1};
  return {image, 1, sizes[kPosition]};
}

/// Cuts a dimension of `size` points, along which y steps by `step`, at the borders of axes.
static LogicalResult cut(const ConvolutionWalk::ByAxis &sizes,
                         const ConvolutionWalk::ByAxis &strides, int64_t size, int64_t step,
                         ArrayRef<int64_t> views, bool isReduced,
                         std::array<SmallVector<Piece>, 3> &pieces) {
  int64_t inner = 1; // points of the pieces so far
  while (inner < size) {
    int64_t at = step * inner;
    unsigned axis = kImage;
    while (axis <= kChannel && (at < strides[axis] || at >= strides[axis] * sizes[axis]))
      ++axis;
    if (axis > kChannel || at % strides[axis])
      return failure();
    int64_t points = std::min(size / inner, strides[axis] * sizes[axis] / at);
    if (points < 2 || size / inner % points)
      return failure();
    auto scaled = llvm::map_to_vector(views, [&](int64_t stride) { return stride * inner; });
    pieces[axis].push_back({at / strides[axis], points, scaled, isReduced});
    inner *= points;
  }
  return success();
}

/// Joins the pieces of an axis of `size` to one; null if they are not steps of one walk over it.
static std::optional<Piece> join(SmallVector<Piece> &pieces, int64_t size, size_t views) {
  llvm::sort(pieces, [](const Piece &a, const Piece &b) { return a.step < b.step; });
  Piece whole{1, 1, SmallVector<int64_t>(views, 0), false};
  for (const Piece &piece : pieces) {
    if (whole.size == 1) {
      whole.strides = piece.strides;
      whole.isReduced = piece.isReduced;
    }
    bool continues = piece.step == whole.size && piece.isReduced == whole.isReduced;
    for (auto [stride, first] : llvm::zip(piece.strides, whole.strides))
      continues &= stride == first * whole.size;
    if (!continues)
      return std::nullopt;
    whole.size *= piece.size;
  }
  return whole.size == size ? std::optional(whole) : std::nullopt;
}

std::optional<ConvolutionWalk> ConvolutionWalk::of(GroupOp group, unsigned output,
                                                   RankedTensorType y, bool channelsLast) {
  ConvolutionWalk walk;
  int64_t images = y.getDimSize(0), channels = y.getDimSize(channelsLast ? y.getRank() - 1 : 1);
  walk.sizes = {images, y.getNumElements() / (images * channels), channels};
  ByAxis strides = stridesOf(walk.sizes, channelsLast);
  SmallVector<IndexOp> indexOps(group.getBlock().getOps<IndexOp>());
  unsigned count = group.getNumBuffers();
  std::array<SmallVector<Piece>, 3> pieces;
  for (auto [d, size] : llvm::enumerate(group.getSpace())) {
    SmallVector<int64_t> views;
    for (unsigned i = 0; i < count; ++i)
      views.push_back(group.getBufferStrides(i)[d]);
    for (IndexOp index : indexOps)
      views.push_back(index.getStrides()[d]);
    bool isReduced = int64_t(d) == group.getReducedDimension();
    if (views[output] < 0 ||
        failed(cut(walk.sizes, strides, size, views[output], views, isReduced, pieces)))
      return std::nullopt;
  }
  walk.buffers.resize(count);
  for (unsigned axis : {kImage, kPosition, kChannel}) {
    std::optional<Piece> whole = join(pieces[axis], walk.sizes[axis], count + indexOps.size());
    if (!whole)
      return std::nullopt;
    walk.isReduced[axis] = whole->isReduced;
    for (unsigned i = 0; i < count; ++i)
      walk.buffers[i][axis] = whole->strides[i];
    for (auto [i, index] : llvm::enumerate(indexOps))
      walk.indices[index][axis] = whole->strides[count + i];
  }
  return walk;
}

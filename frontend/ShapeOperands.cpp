//===- ShapeOperands.cpp - The shapes and axes that nodes ask for ---------===//

#include "frontend/ShapeOperands.h"

#include "ir/Shape.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;

namespace halfstep {

std::optional<int64_t> elementCount(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size < 0 || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

Sizes reshapedSizes(OpBinder &b) {
  RankedTensorType x = b.type(0);
  if (!x)
    return failure();
  Sizes sizes = b.integers(1, "the sizes of the new shape");
  if (failed(sizes))
    return failure();
  bool allowZero = b.integer("allowzero", 0);
  // A literal leading 1 in front of a larger batch: the exporter may have seen a batch of 1.
  if (b.scope.batch > 1 && x.getRank() && x.getDimSize(0) == b.scope.batch && !sizes->empty() &&
      sizes->front() == 1)
    b.scope.bakedBatch.push_back(cast<NameLoc>(b.loc).getName().str());

  std::optional<size_t> inferred;
  int64_t known = 1;
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    if (size == -1) {
      if (inferred)
        return b.error() << "has two sizes of -1";
      inferred = i;
      continue;
    }
    if (size == 0 && !allowZero) {
      if (int64_t(i) >= x.getRank())
        return b.error() << "copies dimension " << i << " of " << x << ", which has none such";
      size = x.getDimSize(i);
    }
    if (size < 0 || llvm::MulOverflow(known, size, known))
      return b.error() << "asks for an impossible size, " << size;
  }
  int64_t elements = x.getNumElements();
  if (inferred) {
    if (known == 0 || elements % known)
      return b.error() << "cannot reshape " << x << ": " << elements
                       << " elements do not divide by " << known;
    (*sizes)[*inferred] = elements / known;
  } else if (known != elements) {
    return b.error() << "cannot reshape " << x << " with " << elements << " elements to " << known;
  }
  return sizes;
}

/// No step is as large: onnx's shape inference takes steps of an int.
static constexpr int64_t largestStep = int64_t(1) << 30;
/// No pad is as large, so that sums of sizes and pads cannot overflow.
static constexpr int64_t largestPad = int64_t(1) << 31;

Sizes flattenedSizes(OpBinder &b) {
  RankedTensorType x = b.type(0);
  if (!x)
    return failure();
  // One past the last dimension is a legal place to split.
  int64_t axis = b.integer("axis", 1), rank = x.getRank();
  if (axis < -rank || axis > rank)
    return b.error() << "axis " << axis << " is not a place to split a tensor of rank " << rank;
  axis = axis < 0 ? axis + rank : axis;
  return SmallVector<int64_t>{*elementCount(x.getShape().take_front(axis)),
                              *elementCount(x.getShape().drop_front(axis))};
}

Sizes squeezedSizes(OpBinder &b) {
  RankedTensorType x = b.type(0);
  auto named = b.attributeOrOperand("axes", 1);
  if (!x || failed(named))
    return failure();
  SmallVector<int64_t> axes, sizes;
  if (*named) {
    Sizes normal = b.axes(**named, x.getRank());
    if (failed(normal))
      return failure();
    axes = *normal;
  }
  for (auto [d, size] : llvm::enumerate(x.getShape())) {
    bool removed = *named ? llvm::is_contained(axes, int64_t(d)) : size == 1;
    if (removed && size != 1)
      return b.error() << "cannot remove dimension " << d << " of " << x << ": its size is not 1";
    if (!removed)
      sizes.push_back(size);
  }
  return sizes;
}

Sizes unsqueezedSizes(OpBinder &b) {
  RankedTensorType x = b.type(0);
  auto named = b.attributeOrOperand("axes", 1);
  if (!x || failed(named))
    return failure();
  assert(*named && "required, as onnx's checker knows");
  Sizes axes = b.axes(**named, x.getRank() + (*named)->size());
  if (failed(axes))
    return failure();
  SmallVector<int64_t> sizes(x.getShape());
  for (int64_t axis : *axes) // ascending, so that earlier ones are in place
    sizes.insert(sizes.begin() + axis, 1);
  return sizes;
}

Sizes expandedSizes(OpBinder &b) {
  RankedTensorType x = b.type(0);
  if (!x)
    return failure();
  Sizes sizes = b.integers(1, "the sizes of the new shape");
  if (failed(sizes))
    return failure();
  if (!elementCount(*sizes))
    return b.error() << "asks for an impossible shape";
  Sizes joint = train::ShapeBuilder(b.loc, b.node.op_type())
                    .broadcast({x, RankedTensorType::get(*sizes, x.getElementType())});
  if (succeeded(joint) && !elementCount(*joint))
    return b.error() << "asks for an impossible shape";
  return joint;
}

Sizes permutationOf(OpBinder &b, int64_t rank) {
  const onnx::AttributeProto *given = b.attribute("perm");
  if (!given)
    return llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(rank)));
  SmallVector<int64_t> permutation(given->ints().begin(), given->ints().end());
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(rank)))
    return b.error() << "perm is not a permutation of " << rank << " dimensions";
  return permutation;
}

FailureOr<Part> slicedPart(OpBinder &b, RankedTensorType x) {
  int64_t rank = x.getRank();
  auto starts = b.attributeOrOperand("starts", 1), ends = b.attributeOrOperand("ends", 2),
       axes = b.attributeOrOperand("axes", 3), steps = b.attributeOrOperand("steps", 4);
  if (failed(starts) || failed(ends) || failed(axes) || failed(steps))
    return failure();
  if (!*starts || !*ends || (*starts)->size() != (*ends)->size() ||
      (*axes && (*axes)->size() != (*starts)->size()) ||
      (*steps && (*steps)->size() != (*starts)->size()))
    return b.error() << "starts, ends, axes and steps differ in length";

  Part part(x.getShape());
  SmallVector<bool> seen(rank);
  for (size_t i = 0; i < (*starts)->size(); ++i) {
    FailureOr<int64_t> axis = b.axis(*axes ? (**axes)[i] : int64_t(i), rank);
    if (failed(axis))
      return failure();
    int64_t size = x.getDimSize(*axis), step = *steps ? (**steps)[i] : 1;
    if (step == 0 || step <= -largestStep || step >= largestStep)
      return b.error() << "has a step of " << step << "; it must be a number below 2^30, not zero";
    if (std::exchange(seen[*axis], true))
      return b.error() << "an axis is named twice";
    // The positions are clamped to where the walk can start and end, which depends on its
    // direction.
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, low, high); };
    int64_t start = clamp((**starts)[i]), end = clamp((**ends)[i]);
    int64_t distance = step > 0 ? end - start : start - end;
    part.sizes[*axis] = distance <= 0 ? 0 : (distance - 1) / std::abs(step) + 1;
    part.offsets[*axis] = start;
    part.strides[*axis] = part.sizes[*axis] > 1 ? step : 1;
  }
  return part;
}

Sizes splitSizes(OpBinder &b, int64_t size) {
  int64_t outputs = b.node.output_size();
  auto named = b.attributeOrOperand("split", 1);
  if (failed(named))
    return failure();
  if (*named) {
    int64_t rest = size;
    bool isPartition = int64_t((*named)->size()) == outputs;
    for (int64_t part : **named)
      isPartition = isPartition && part >= 0 && (rest -= part) >= 0;
    if (!isPartition || rest != 0)
      return b.error() << "its sizes are not " << outputs << " parts of a dimension of size "
                       << size;
    return **named;
  }
  int64_t count = b.integer("num_outputs", outputs), part = (size + outputs - 1) / outputs;
  int64_t last = size - part * (outputs - 1);
  if (count != outputs)
    return b.error() << "has num_outputs " << count << ", but " << outputs << " outputs";
  if (last != part && !b.attribute("num_outputs"))
    return b.error() << "cannot split a dimension of size " << size << " into " << outputs
                     << " equal parts";
  if (last < 0)
    return b.error() << "cannot split a dimension of size " << size << " into " << outputs
                     << " parts: each but the last has " << size << " / " << outputs
                     << " elements, rounded up, which are " << part << ", and leaves " << last
                     << " for the last";
  SmallVector<int64_t> sizes(outputs, part);
  sizes.back() = last;
  return sizes;
}

FailureOr<Pads> padsOf(OpBinder &b, int64_t rank) {
  auto named = b.attributeOrOperand("pads", 1), axes = b.attributeOrOperand("axes", 3);
  if (failed(named) || failed(axes))
    return failure();
  SmallVector<int64_t> padded = *axes ? **axes : llvm::to_vector(llvm::seq<int64_t>(rank));
  if (!*named || (*named)->size() != 2 * padded.size())
    return b.error() << "needs two pads for each of " << padded.size() << " dimensions";
  if (failed(b.axes(padded, rank)))
    return failure();
  Pads pads{SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 0)};
  for (auto [i, axis] : llvm::enumerate(padded)) {
    int64_t front = (**named)[i], behind = (**named)[padded.size() + i];
    if (std::min(front, behind) <= -largestPad || std::max(front, behind) >= largestPad)
      return b.error() << "pads by " << front << " and " << behind
                       << ": only numbers below 2^31 are supported";
    pads.front[axis < 0 ? axis + rank : axis] = front;
    pads.behind[axis < 0 ? axis + rank : axis] = behind;
  }
  return pads;
}

Sizes reducedAxes(OpBinder &b, int64_t rank) {
  auto named = b.attributeOrOperand("axes", 1);
  if (failed(named))
    return failure();
  if (*named && !(*named)->empty())
    return b.axes(**named, rank);
  if (b.integer("noop_with_empty_axes", 0))
    return SmallVector<int64_t>();
  return llvm::to_vector(llvm::seq<int64_t>(rank));
}

} // namespace halfstep

//===- FoldMovement.cpp - Shapes of tensors, and constants moved ----------===//

#include "frontend/FoldElements.h"
#include "frontend/ShapeOperands.h"

#include <cassert>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::fold;

namespace {

Folded foldShape(OpBinder &b) {
  ArrayRef<int64_t> sizes = b.type(0).getShape();
  int64_t rank = sizes.size();
  auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  int64_t start = clamp(b.integer("start", 0)), end = clamp(b.integer("end", rank));
  return vectorOf(b, start < end ? sizes.slice(start, end - start) : ArrayRef<int64_t>());
}

Folded foldSize(OpBinder &b) { return scalarOf(b, b.type(0).getNumElements()); }

Folded foldIdentity(OpBinder &b) { return b.constant(0); }

/// A constant under another shape of as many elements.
Folded foldReshaped(OpBinder &b, FailureOr<SmallVector<int64_t>> sizes) {
  if (failed(sizes))
    return failure();
  DenseElementsAttr x = b.constant(0);
  assert(elementCount(*sizes) == x.getNumElements() && "the sizes were made of the operand's");
  return x.reshape(RankedTensorType::get(*sizes, x.getElementType()));
}

Folded foldReshape(OpBinder &b) { return foldReshaped(b, reshapedSizes(b)); }
Folded foldFlatten(OpBinder &b) { return foldReshaped(b, flattenedSizes(b)); }
Folded foldSqueeze(OpBinder &b) { return foldReshaped(b, squeezedSizes(b)); }
Folded foldUnsqueeze(OpBinder &b) { return foldReshaped(b, unsqueezedSizes(b)); }

Folded foldExpand(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  FailureOr<SmallVector<int64_t>> sizes = expandedSizes(b);
  if (failed(sizes))
    return failure();
  auto type = RankedTensorType::get(*sizes, x.getElementType());
  if (x.isSplat())
    return x.resizeSplat(type);
  if (failed(b.reserve(type.getNumElements())))
    return failure();
  return pick(x, type, broadcastOffsets(typeOf(x).getShape(), *sizes));
}

Folded foldTranspose(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  FailureOr<SmallVector<int64_t>> permutation = permutationOf(b, typeOf(x).getRank());
  if (failed(permutation))
    return failure();
  SmallVector<int64_t> strides = stridesOf(typeOf(x).getShape()), sizes, permuted;
  for (int64_t p : *permutation) {
    sizes.push_back(typeOf(x).getDimSize(p));
    permuted.push_back(strides[p]);
  }
  if (failed(b.reserve(x.getNumElements())))
    return failure();
  return pick(x, RankedTensorType::get(sizes, x.getElementType()), offsets(sizes, permuted));
}

Folded foldGather(OpBinder &b) {
  DenseElementsAttr data = b.constant(0), indices = b.constant(1);
  ArrayRef<int64_t> shape = typeOf(data).getShape();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  if (!isa<IntegerType>(indices.getElementType()))
    return b.error() << "indices are not integers";

  SmallVector<int64_t> sizes(shape.take_front(*axis));
  llvm::append_range(sizes, typeOf(indices).getShape());
  llvm::append_range(sizes, shape.drop_front(*axis + 1));
  std::optional<int64_t> count = elementCount(sizes);
  if (!count || failed(b.reserve(*count)) || failed(b.reserve(indices.getNumElements())))
    return failure();

  int64_t size = shape[*axis], inner = *elementCount(shape.drop_front(*axis + 1));
  SmallVector<int64_t> positions;
  for (const APInt &index : indices.getValues<APInt>()) {
    int64_t position = index.getSExtValue();
    if (position < -size || position >= size)
      return b.error() << "index " << position << " is outside a dimension of size " << size;
    positions.push_back(position < 0 ? position + size : position);
  }
  SmallVector<int64_t> source;
  for (int64_t outer = 0, end = *elementCount(shape.take_front(*axis)); outer < end; ++outer)
    for (int64_t position : positions)
      for (int64_t i = 0; i < inner; ++i)
        source.push_back((outer * size + position) * inner + i);
  return pick(data, RankedTensorType::get(sizes, data.getElementType()), source);
}

Folded foldConcat(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  RankedTensorType first = typeOf(operands->front());
  FailureOr<int64_t> axis = b.axis(b.integer("axis", 0), first.getRank());
  if (failed(axis))
    return failure();
  SmallVector<int64_t> sizes(first.getShape());
  sizes[*axis] = 0;
  for (DenseElementsAttr operand : *operands) {
    SmallVector<int64_t> others(typeOf(operand).getShape());
    if (others.size() != sizes.size())
      return b.error() << "operands have different ranks";
    sizes[*axis] += std::exchange(others[*axis], first.getDimSize(*axis));
    if (ArrayRef(others) != first.getShape())
      return b.error() << "operands differ in another dimension than the joined one";
  }
  auto type = RankedTensorType::get(sizes, first.getElementType());
  if (failed(b.reserve(type.getNumElements())))
    return failure();

  auto join = [&](auto zero) {
    using T = decltype(zero);
    int64_t outer = *elementCount(ArrayRef(sizes).take_front(*axis));
    SmallVector<T> result;
    SmallVector<SmallVector<T>> parts =
        llvm::map_to_vector(*operands, [](DenseElementsAttr x) { return elements<T>(x); });
    for (int64_t o = 0; o < outer; ++o)
      for (auto [operand, part] : llvm::zip(*operands, parts)) {
        int64_t block = *elementCount(typeOf(operand).getShape().drop_front(*axis));
        for (int64_t i = 0; i < block; ++i)
          result.push_back(part[operand.isSplat() ? 0 : o * block + i]);
      }
    return make<T>(type, result);
  };
  return isFloat(operands->front()) ? join(double()) : join(int64_t());
}

Folded foldSlice(OpBinder &b) {
  DenseElementsAttr x = b.constant(0);
  FailureOr<Part> part = slicedPart(b, typeOf(x));
  if (failed(part))
    return failure();
  SmallVector<int64_t> strides = stridesOf(typeOf(x).getShape());
  int64_t first = 0;
  for (auto [offset, step, stride] : llvm::zip(part->offsets, part->strides, strides)) {
    first += offset * stride;
    stride *= step;
  }
  auto type = RankedTensorType::get(part->sizes, x.getElementType());
  if (failed(b.reserve(type.getNumElements())))
    return failure();
  return pick(x, type, offsets(part->sizes, strides, first));
}

const Folder folders[] = {
    {"Concat", foldConcat},   {"Expand", foldExpand},       {"Flatten", foldFlatten},
    {"Gather", foldGather},   {"Identity", foldIdentity},   {"Reshape", foldReshape},
    {"Shape", foldShape},     {"Size", foldSize},           {"Slice", foldSlice},
    {"Squeeze", foldSqueeze}, {"Transpose", foldTranspose}, {"Unsqueeze", foldUnsqueeze},
};

} // namespace

ArrayRef<Folder> halfstep::movementFolders() { return folders; }

//===- ImportRulesParts.cpp - Parts of tensors, and tensors of parts ------===//
//
// Slice, Split and Gather by known indices take parts, Concat and Pad put them together. Where a
// part lies must be known when compiling.
//
//===----------------------------------------------------------------------===//

#include "frontend/ImportRules.h"
#include "frontend/ShapeOperands.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cassert>

using namespace mlir;

namespace halfstep {
namespace {

SmallVector<NamedAttribute> placeAttributes(OpBinder &b, const Part &part,
                                            ArrayRef<int64_t> sizes) {
  Builder &builder = b.scope.builder;
  return {b.named("offsets", builder.getDenseI64ArrayAttr(part.offsets)),
          b.named("strides", builder.getDenseI64ArrayAttr(part.strides)),
          b.named("sizes", builder.getDenseI64ArrayAttr(sizes))};
}

Value slice(OpBinder &b, Value x, const Part &part) {
  return x ? b.create<train::SliceOp>(x, placeAttributes(b, part, part.sizes)) : Value();
}

/// The type of `x` with another size of dimension `axis`.
RankedTensorType withSize(Value x, int64_t axis, int64_t size) {
  SmallVector<int64_t> sizes(sizesOf(x));
  sizes[axis] = size;
  return RankedTensorType::get(sizes, getElementTypeOrSelf(x));
}

/// `count` elements of `x` along `axis`, `stride` apart, from element `offset` on.
Value sliceAlong(OpBinder &b, Value x, int64_t axis, int64_t offset, int64_t count,
                 int64_t stride = 1) {
  if (!x)
    return {};
  Part part(sizesOf(x));
  part.offsets[axis] = offset;
  part.strides[axis] = stride;
  part.sizes[axis] = count;
  return slice(b, x, part);
}

Value concat(OpBinder &b, ArrayRef<Value> parts, int64_t axis) {
  return parts.size() == 1 ? parts.front()
                           : b.create<train::ConcatOp>(
                                 parts, b.named("axis", b.scope.builder.getI64IntegerAttr(axis)));
}

LogicalResult importSlice(OpBinder &b) {
  RankedTensorType x = b.type(0);
  if (!x)
    return failure();
  FailureOr<Part> part = slicedPart(b, x);
  if (failed(part))
    return failure();
  if (llvm::is_contained(part->sizes, 0))
    return b.bindEmpty(0, RankedTensorType::get(part->sizes, x.getElementType()));
  return b.bind(0, slice(b, b.operand(0), *part));
}

LogicalResult importSplit(OpBinder &b) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", 0), sizesOf(x).size());
  if (failed(axis))
    return failure();
  Sizes sizes = splitSizes(b, sizesOf(x)[*axis]);
  if (failed(sizes))
    return failure();
  int64_t offset = 0;
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    LogicalResult bound = success();
    if (size == 0)
      bound = b.bindEmpty(i, withSize(x, *axis, 0));
    else if (b.uses(i))
      bound = b.bind(i, sliceAlong(b, x, *axis, offset, size));
    if (failed(bound))
      return failure();
    offset += size;
  }
  return success();
}

LogicalResult importConcat(OpBinder &b) {
  if (!b.type(0))
    return failure();
  FailureOr<int64_t> axis = b.axis(b.integer("axis", 0), b.type(0).getRank());
  if (failed(axis))
    return failure();
  SmallVector<Value> parts;
  for (unsigned i = 0; i < b.size(); ++i) {
    RankedTensorType type = b.type(i);
    if (!type)
      return failure();
    // A known tensor may be empty; it adds nothing, as long as it would fit.
    bool fits = type.getRank() > *axis && type.getElementType() == b.type(0).getElementType();
    if (type.getNumElements() == 0 && fits && type.getDimSize(*axis) == 0)
      continue;
    parts.push_back(b.operand(i));
    if (!parts.back())
      return failure();
  }
  assert(!parts.empty() && "constants are folded, and all that is empty is one");
  return b.bind(0, concat(b, parts, *axis));
}

/// One slice for each run of evenly spaced indices.
LogicalResult importGather(OpBinder &b) {
  constexpr size_t mostSlices = 64;
  Value x = b.operand(0);
  RankedTensorType indexType = b.type(1);
  if (!x || !indexType)
    return failure();
  ArrayRef<int64_t> sizes = sizesOf(x);
  FailureOr<int64_t> axis = b.axis(b.integer("axis", 0), sizes.size());
  Sizes indices = b.integers(1, "indices");
  if (failed(axis) || failed(indices))
    return failure();
  int64_t size = sizes[*axis];
  for (int64_t &index : *indices) {
    if (index < -size || index >= size)
      return b.error() << "index " << index << " is outside a dimension of size " << size;
    index += index < 0 ? size : 0;
  }
  SmallVector<Value> slices;
  for (ArrayRef<int64_t> rest = *indices; !rest.empty();) {
    size_t count = 1;
    int64_t stride = rest.size() > 1 && rest[1] != rest[0] ? rest[1] - rest[0] : 1;
    while (count < rest.size() && rest[count] == rest[count - 1] + stride)
      ++count;
    slices.push_back(sliceAlong(b, x, *axis, rest[0], count, stride));
    rest = rest.drop_front(count);
  }
  if (slices.size() > mostSlices)
    return b.error() << "takes " << slices.size() << " runs of evenly spaced indices; up to "
                     << mostSlices << " are supported";
  SmallVector<int64_t> result(sizes.take_front(*axis));
  llvm::append_range(result, indexType.getShape());
  llvm::append_range(result, sizes.drop_front(*axis + 1));
  if (slices.empty())
    return b.bindEmpty(0, RankedTensorType::get(result, getElementTypeOrSelf(x)));
  return b.bind(0, b.reshape(concat(b, slices, *axis), result));
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// The scalar that a constant padding repeats. An initializer is a number, not a weight to train.
Value paddingValue(OpBinder &b, Value x) {
  if (!b.has(2))
    return b.scalar(x, b.number("value", 0));
  if (DenseElementsAttr known = b.constant(2); known && known.getNumElements() == 1)
    return b.scope.builder.create<arith::ConstantOp>(
        b.loc, known.reshape(RankedTensorType::get({}, known.getElementType())));
  Value value = b.operand(2);
  if (value && ShapedType::getNumElements(sizesOf(value)) != 1) {
    b.error() << "pads with " << value.getType() << " instead of one number";
    return {};
  }
  return b.reshape(value, {});
}

Value padConstant(OpBinder &b, Value x, ArrayRef<int64_t> front, ArrayRef<int64_t> behind) {
  Value value = paddingValue(b, x);
  if (!value)
    return {};
  Part part(sizesOf(x));
  SmallVector<int64_t> sizes(sizesOf(x));
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i] += front[i] + behind[i];
  part.offsets.assign(front.begin(), front.end());
  return b.create<train::PadOp>({x, value}, placeAttributes(b, part, sizes));
}

/// `x` so many times along `axis`: as [..., 1, n, ...], of which the 1 is repeated.
Value repeatAlong(OpBinder &b, Value x, int64_t axis, int64_t times) {
  RankedTensorType result = withSize(x, axis, times * sizesOf(x)[axis]);
  SmallVector<int64_t> apart(sizesOf(x));
  apart.insert(apart.begin() + axis, 1);
  x = b.reshape(x, apart);
  apart[axis] = times;
  return b.reshape(b.broadcast(x, apart), result.getShape());
}

/// `x` between what its own elements say of their neighbourhood, along one axis.
Value padAlong(OpBinder &b, StringRef mode, Value x, int64_t axis, int64_t front, int64_t behind) {
  int64_t size = sizesOf(x)[axis], most = size - 1;
  if (mode == "reflect" && (front > most || behind > most)) {
    b.error() << "pads dimension " << axis << " of size " << size << " by more than " << most
              << " in mode reflect, which does not reach beyond the other edge";
    return {};
  }
  auto edge = [&](int64_t offset, int64_t count) {
    return b.broadcast(sliceAlong(b, x, axis, offset, 1), withSize(x, axis, count).getShape());
  };
  Value middle = x;
  if (mode == "wrap") { // whole periods, then what is left of one
    middle = repeatAlong(b, x, axis, front / size + 1 + behind / size);
    front %= size;
    behind %= size;
  }
  SmallVector<Value> parts;
  if (front > 0)
    parts.push_back(mode == "edge"      ? edge(0, front)
                    : mode == "reflect" ? sliceAlong(b, x, axis, front, front, -1)
                                        : sliceAlong(b, x, axis, size - front, front));
  parts.push_back(middle);
  if (behind > 0)
    parts.push_back(mode == "edge"      ? edge(size - 1, behind)
                    : mode == "reflect" ? sliceAlong(b, x, axis, size - 2, behind, -1)
                                        : sliceAlong(b, x, axis, 0, behind));
  return concat(b, parts, axis);
}

LogicalResult importPad(OpBinder &b) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  int64_t rank = sizesOf(x).size();
  FailureOr<Pads> pads = padsOf(b, rank);
  if (failed(pads))
    return failure();
  const onnx::AttributeProto *found = b.attribute("mode");
  std::string mode = found ? found->s() : "constant";
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    return b.error() << "has a mode '" << mode << "', which ONNX does not know";

  // Negative pads crop, before the others are filled.
  Part kept(sizesOf(x));
  SmallVector<int64_t> result;
  bool isCropped = false, isPadded = false;
  for (int64_t i = 0; i < rank; ++i) {
    kept.offsets[i] = std::max<int64_t>(0, -pads->front[i]);
    kept.sizes[i] += std::min<int64_t>(0, pads->front[i]) + std::min<int64_t>(0, pads->behind[i]);
    isCropped |= pads->front[i] < 0 || pads->behind[i] < 0;
    isPadded |= pads->front[i] > 0 || pads->behind[i] > 0;
    pads->front[i] = std::max<int64_t>(0, pads->front[i]);
    pads->behind[i] = std::max<int64_t>(0, pads->behind[i]);
    bool isFilled = pads->front[i] + pads->behind[i] > 0;
    if (kept.sizes[i] < 0 || (kept.sizes[i] == 0 && isFilled))
      return b.error() << "crops all of dimension " << i << " of " << x.getType()
                       << (isFilled ? " before it pads it" : ", and more");
    result.push_back(kept.sizes[i] + pads->front[i] + pads->behind[i]);
  }
  if (!isCropped && !isPadded)
    return b.forward();
  if (llvm::is_contained(result, 0))
    return b.bindEmpty(0, RankedTensorType::get(result, getElementTypeOrSelf(x)));
  if (isCropped)
    x = slice(b, x, kept);
  if (mode == "constant")
    return b.bind(0, isPadded ? padConstant(b, x, pads->front, pads->behind) : x);
  for (int64_t i = 0; x && i < rank; ++i)
    if (pads->front[i] > 0 || pads->behind[i] > 0)
      x = padAlong(b, mode, x, i, pads->front[i], pads->behind[i]);
  return b.bind(0, x);
}

constexpr RuleCategory Widest = RuleCategory::Widest;

const ImportRule rules[] = {
    {"Concat", 1, importConcat, Widest},           {"Gather", 1, importGather, Widest, true, 0b10},
    {"Pad", 2, importPad, Widest, true, 0b1110},   {"Slice", 1, importSlice, Widest, true, 0b11110},
    {"Split", 1, importSplit, Widest, true, 0b10},
};

} // namespace

ArrayRef<ImportRule> partRules() { return rules; }

} // namespace halfstep

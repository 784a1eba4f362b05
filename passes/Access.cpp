//===- Access.cpp - Values as strided views -------------------------------===//

#include "passes/Access.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/ScalarState.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

static ArrayRef<int64_t> sizesOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool halfstep::isMovement(Operation *op) {
  return isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp>(op);
}

Sizes halfstep::rowMajor(ArrayRef<int64_t> sizes) {
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
    strides[i] = sizes[i] == 1 ? 0 : stride;
  return strides;
}

std::optional<Sizes> halfstep::reshapeStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                                              ArrayRef<int64_t> to) {
  if (llvm::is_contained(from, 0))
    return rowMajor(to); // nothing to walk
  Sizes result(to.size());
  // Takes the shortest run of dimensions on both sides that holds equally many elements.
  for (size_t f = 0, t = 0; f < from.size() || t < to.size();) {
    size_t fromBegin = f, toBegin = t;
    int64_t fromCount = f < from.size() ? from[f++] : 1, toCount = t < to.size() ? to[t++] : 1;
    while (fromCount != toCount)
      if (fromCount < toCount)
        fromCount *= from[f++];
      else
        toCount *= to[t++];
    int64_t step = 0; // of the run's innermost dimension
    for (size_t i = f, inner = 1; i-- > fromBegin;) {
      if (from[i] == 1)
        continue;
      if (inner == 1)
        step = strides[i];
      else if (strides[i] != step * int64_t(inner))
        return std::nullopt;
      inner *= from[i];
    }
    for (size_t i = t; i-- > toBegin;) {
      result[i] = to[i] == 1 ? 0 : step;
      step *= to[i];
    }
  }
  return result;
}

Walk halfstep::walkPart(const Walk &whole, const Place &place, ArrayRef<int64_t> sizes) {
  Walk part{whole.strides, whole.offset};
  for (auto [i, size] : llvm::enumerate(sizes)) {
    part.offset += place.offsets[i] * whole.strides[i];
    part.strides[i] = size == 1 ? 0 : place.strides[i] * whole.strides[i];
  }
  return part;
}

Access halfstep::resolve(Value value) {
  Access whole{{rowMajor(sizesOf(value))}, value};
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    Access inner = resolve(reshape.getX());
    auto strides = reshapeStrides(sizesOf(reshape.getX()), inner.strides, reshape.getSizes());
    return strides ? Access{{*strides, inner.offset}, inner.root} : whole;
  }
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    Access inner = resolve(transpose.getX());
    auto strides = llvm::map_to_vector(transpose.getPermutation(),
                                       [&](int64_t p) { return inner.strides[p]; });
    return {{Sizes(strides), inner.offset}, inner.root};
  }
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    Access inner = resolve(broadcast.getX());
    Sizes strides(sizesOf(value).size() - inner.strides.size(), 0);
    strides.append(inner.strides); // already 0 where the operand has size 1
    return {{strides, inner.offset}, inner.root};
  }
  if (auto slice = value.getDefiningOp<SliceOp>()) {
    Access inner = resolve(slice.getX());
    return {walkPart(inner, placeOf(slice), slice.getSizes()), inner.root};
  }
  return whole;
}

bool halfstep::isRange(const Access &access, ArrayRef<int64_t> sizes) {
  return ArrayRef(access.strides) == ArrayRef(rowMajor(sizes));
}

bool halfstep::isAligned(const Access &access, RankedTensorType type) {
  constexpr int64_t vectorBytes = 16;
  return access.offset * std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1) % vectorBytes == 0;
}

bool halfstep::isContiguous(const Access &access, ArrayRef<int64_t> sizes) {
  return isRange(access, sizes) &&
         ShapedType::getNumElements(sizes) ==
             cast<RankedTensorType>(access.root.getType()).getNumElements();
}

Value halfstep::createCopy(ImplicitLocOpBuilder &b, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto identity = [](ArrayRef<Expr> arguments) -> SmallVector<Expr> { return {arguments.front()}; };
  return buildMap(b, {value}, Precision::Widest, type.getShape(), {type.getElementType()}, identity)
      .front()
      .value;
}

/// `depth` bounds what readers compute again: an expression may have many paths to one constant.
static bool isUniform(Value value, unsigned depth) {
  Operation *op = resolve(value).root.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return depth > 0 && isa_and_nonnull<ScalarOpInterface>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isUniform(operand, depth - 1); });
}

static constexpr unsigned kDepth = 4;

bool halfstep::isUniformConstant(Value value) { return isUniform(value, kDepth); }

/// Ops that each of a kernel's threads may do besides its own: an instruction or two.
static bool isCheap(Operation *op) {
  return isa_and_nonnull<AddOp, SubOp, MulOp, MinimumOp, MaximumOp, CompareOp, SelectOp, CastOp>(
      op);
}

static bool isComputed(Value value, unsigned depth) {
  Value root = resolve(value).root;
  if (scalarStateOf(root) == ScalarState::Kept || isUniform(root, depth))
    return true;
  return depth > 0 && isCheap(root.getDefiningOp()) &&
         llvm::all_of(root.getDefiningOp()->getOperands(),
                      [&](Value operand) { return isComputed(operand, depth - 1); });
}

bool halfstep::isComputedByReaders(Value value) {
  return resolve(value).root.getDefiningOp() && isComputed(value, kDepth);
}

//===- Shape.cpp - The language of shape rules ----------------------------===//

#include "ir/Shape.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace halfstep::train;
using Shape = ShapeBuilder::Shape;

static std::string text(ArrayRef<int64_t> sizes) {
  std::string result = "[";
  llvm::raw_string_ostream os(result);
  llvm::interleave(sizes, os, "x");
  return result + "]";
}

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

Shape ShapeBuilder::error(const Twine &message) {
  if (location)
    emitError(*location) << "'" << op << "' " << message;
  return failure();
}

Shape ShapeBuilder::same(Tensor x) { return llvm::to_vector(x.getShape()); }

Shape ShapeBuilder::broadcast(ArrayRef<Tensor> operands) {
  SmallVector<int64_t> result;
  for (Tensor operand : operands) {
    ArrayRef<int64_t> sizes = operand.getShape();
    if (sizes.size() > result.size())
      result.insert(result.begin(), sizes.size() - result.size(), 1);
    for (auto [mine, size] :
         llvm::zip(llvm::drop_begin(result, result.size() - sizes.size()), sizes)) {
      if (mine != size && mine != 1 && size != 1)
        return error("cannot broadcast " + text(operands.front().getShape()) + " and " +
                     text(sizes) + ": sizes must be equal or 1");
      mine = mine == 1 ? size : mine;
    }
  }
  return result;
}

Shape ShapeBuilder::broadcast(Tensor x, ArrayRef<int64_t> sizes) {
  Shape joint = broadcast({x, Tensor::get(sizes, x.getElementType())});
  if (succeeded(joint) && *joint != sizes)
    return error("cannot broadcast " + text(x.getShape()) + " to " + text(sizes));
  return joint;
}

Shape ShapeBuilder::reduce(Tensor x, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> result(x.getShape());
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (axis <= previous || axis >= x.getRank())
      return error("axes " + text(axes) + " are not ascending dimensions of a tensor of rank " +
                   Twine(x.getRank()));
    result[axis] = 1;
    previous = axis;
  }
  return result;
}

Shape ShapeBuilder::axis(Tensor x, int64_t axis) {
  if (axis < 0 || axis >= x.getRank())
    return error("axis " + Twine(axis) + " is not a dimension of a tensor of rank " +
                 Twine(x.getRank()));
  return same(x);
}

Shape ShapeBuilder::norm(Tensor x, ArrayRef<Tensor> parameters, ArrayRef<int64_t> axes) {
  for (Tensor parameter : parameters)
    if (failed(broadcast(parameter, x.getShape())))
      return failure();
  return failed(reduce(x, axes)) ? Shape(failure()) : same(x);
}

Shape ShapeBuilder::matmul(Tensor a, Tensor b, bool transA, bool transB) {
  if (a.getRank() < 2 || b.getRank() < 2)
    return error("needs operands of rank 2 or more");
  auto size = [](Tensor t, bool transposed, int dimension) {
    return t.getDimSize(t.getRank() - 2 + (transposed ? 1 - dimension : dimension));
  };
  if (size(a, transA, 1) != size(b, transB, 0))
    return error("contracted dimensions differ: " + Twine(size(a, transA, 1)) + " and " +
                 Twine(size(b, transB, 0)));
  Shape result = broadcast({Tensor::get(a.getShape().drop_back(2), a.getElementType()),
                            Tensor::get(b.getShape().drop_back(2), b.getElementType())});
  if (succeeded(result))
    result->append({size(a, transA, 0), size(b, transB, 1)});
  return result;
}

Shape ShapeBuilder::reshape(Tensor x, ArrayRef<int64_t> sizes) {
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }) ||
      ShapedType::getNumElements(sizes) != x.getNumElements())
    return error("cannot reshape " + text(x.getShape()) + " to " + text(sizes) +
                 ": the numbers of elements differ");
  return llvm::to_vector(sizes);
}

Shape ShapeBuilder::transpose(Tensor x, ArrayRef<int64_t> permutation) {
  SmallVector<bool> seen(x.getRank());
  bool valid = int64_t(permutation.size()) == x.getRank();
  for (int64_t p : permutation)
    valid = valid && p >= 0 && p < x.getRank() && !std::exchange(seen[p], true);
  if (!valid)
    return error(text(permutation) + " is not a permutation of " + Twine(x.getRank()) +
                 " dimensions");
  return llvm::map_to_vector(permutation, [&](int64_t p) { return x.getDimSize(p); });
}

Shape ShapeBuilder::slice(Tensor x, const Place &place, ArrayRef<int64_t> sizes) {
  size_t rank = x.getRank();
  if (sizes.size() != rank || place.offsets.size() != rank || place.strides.size() != rank)
    return error("needs an offset, a stride and a size for each of " + Twine(rank) + " dimensions");
  for (auto [whole, offset, stride, size] :
       llvm::zip(x.getShape(), place.offsets, place.strides, sizes)) {
    int64_t last;
    bool isInside = size >= 1 && stride != 0 && offset >= 0 && offset < whole &&
                    !llvm::MulOverflow(size - 1, stride, last) &&
                    !llvm::AddOverflow(offset, last, last) && last >= 0 && last < whole;
    if (!isInside)
      return error("has a part of sizes " + text(sizes) + " at offsets " + text(place.offsets) +
                   " and strides " + text(place.strides) + " that does not lie in " +
                   text(x.getShape()));
  }
  return llvm::to_vector(sizes);
}

Shape ShapeBuilder::pad(Tensor x, Tensor value, const Place &place, ArrayRef<int64_t> sizes) {
  if (value.getRank() != 0 || value.getElementType() != x.getElementType())
    return error("needs a scalar of type " + text(x.getElementType()) + " to pad with, not " +
                 text(value));
  return insert(x, {}, place, sizes);
}

Shape ShapeBuilder::insert(Tensor x, Value into, const Place &place, ArrayRef<int64_t> sizes) {
  if (llvm::any_of(sizes, [](int64_t size) { return size < 1; }))
    return error("cannot have the shape " + text(sizes));
  auto whole = Tensor::get(sizes, x.getElementType());
  if (into && into.getType() != whole)
    return error("writes into " + text(into.getType()) + ", not " + text(whole));
  if (failed(slice(whole, place, x.getShape())))
    return failure();
  return llvm::to_vector(sizes);
}

Shape ShapeBuilder::concat(ValueRange operands, int64_t axis) {
  if (operands.empty())
    return error("needs an operand");
  Tensor first = (*this)(operands.front());
  if (failed(this->axis(first, axis)))
    return failure();
  SmallVector<int64_t> result(first.getShape());
  result[axis] = 0;
  for (Value operand : operands) {
    Tensor type = (*this)(operand);
    SmallVector<int64_t> others(type.getShape());
    if (type.getRank() == first.getRank())
      result[axis] += std::exchange(others[axis], first.getDimSize(axis));
    if (ArrayRef(others) != first.getShape() || type.getElementType() != first.getElementType())
      return error("cannot join " + text(first) + " and " + text(type) + " along dimension " +
                   Twine(axis));
  }
  return result;
}

Shape ShapeBuilder::iota(ArrayRef<int64_t> sizes, int64_t dimension) {
  if (dimension < 0 || dimension >= int64_t(sizes.size()))
    return error("dimension " + Twine(dimension) + " is not one of " + text(sizes));
  if (ShapedType::getNumElements(sizes) != sizes[dimension])
    return error("varies along one dimension; the others of " + text(sizes) + " must have size 1");
  return llvm::to_vector(sizes);
}

Shape ShapeBuilder::element(Tensor x) {
  if (x.getNumElements() != 1)
    return error("needs one element, not " + text(x.getShape()));
  return SmallVector<int64_t>{};
}

Shape ShapeBuilder::scalar(ArrayRef<Tensor> operands) {
  for (Tensor operand : operands)
    if (operand.getShape() != operands.front().getShape())
      return error("operands must have one shape, not " + text(operands.front().getShape()) +
                   " and " + text(operand.getShape()));
  return SmallVector<int64_t>{};
}

Shape ShapeBuilder::crossEntropy(Tensor x, Tensor label, int64_t axis) {
  if (axis < 0 || axis >= x.getRank())
    return error("axis " + Twine(axis) + " is not a dimension of a tensor of rank " +
                 Twine(x.getRank()));
  SmallVector<int64_t> expected(x.getShape());
  if (isa<IntegerType>(label.getElementType()))
    expected.erase(expected.begin() + axis);
  if (label.getShape() != ArrayRef(expected))
    return error("label has shape " + text(label.getShape()) + ", expected " + text(expected));
  return SmallVector<int64_t>{};
}

LogicalResult ShapeBuilder::infer(ValueRange operands, llvm::function_ref<Shape()> shape,
                                  llvm::function_ref<Type()> elementType,
                                  SmallVectorImpl<Type> &types) {
  Type common;
  for (Type type : operands.getTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (!isa<FloatType>(element))
      continue;
    if (common && common != element) {
      (void)error("mixes " + text(common) + " and " + text(element) + "; casts are ops");
      return failure();
    }
    common = element;
  }
  Shape sizes = shape();
  if (failed(sizes))
    return failure();
  types.push_back(RankedTensorType::get(*sizes, elementType()));
  return success();
}

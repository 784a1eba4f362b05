//===- FoldCreation.cpp - Constants made and reduced ----------------------===//

#include "frontend/FoldElements.h"
#include "frontend/ShapeOperands.h"
#include "frontend/TensorProto.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::fold;

namespace {

/// The tensor in an attribute, which holds it whole.
Folded tensorAttribute(OpBinder &b, const onnx::TensorProto &tensor) {
  ExternalData none("");
  FailureOr<Weight> weight =
      readTensor(std::shared_ptr<const onnx::TensorProto>(&tensor, [](auto *) {}), none, b.loc);
  if (failed(weight) || failed(b.reserve(weight->type.getNumElements())))
    return failure();
  return toAttribute(*weight);
}

Folded foldConstant(OpBinder &b) {
  Builder &builder = b.scope.builder;
  if (const auto *value = b.attribute("value"))
    return tensorAttribute(b, value->t());
  if (const auto *value = b.attribute("value_int"))
    return scalarOf(b, value->i());
  if (const auto *value = b.attribute("value_ints"))
    return vectorOf(b, SmallVector<int64_t>(value->ints().begin(), value->ints().end()));
  if (const auto *value = b.attribute("value_float"))
    return make<double>(RankedTensorType::get({}, builder.getF32Type()), double(value->f()));
  if (const auto *value = b.attribute("value_floats"))
    return make<double>(
        RankedTensorType::get({int64_t(value->floats_size())}, builder.getF32Type()),
        SmallVector<double>(value->floats().begin(), value->floats().end()));
  return b.error() << "holds a string or a sparse tensor, which is not supported";
}

Folded foldConstantOfShape(OpBinder &b) {
  FailureOr<SmallVector<int64_t>> sizes = b.integers(0, "sizes");
  if (failed(sizes))
    return failure();
  if (!elementCount(*sizes))
    return b.error() << "makes a tensor of an impossible shape";
  const onnx::AttributeProto *value = b.attribute("value");
  if (!value)
    return make<double>(RankedTensorType::get(*sizes, b.scope.builder.getF32Type()), 0.0);
  Folded element = tensorAttribute(b, value->t());
  if (failed(element))
    return failure();
  if (element->getNumElements() != 1)
    return b.error() << "its value is not one element";
  return element->resizeSplat(RankedTensorType::get(*sizes, element->getElementType()));
}

Folded foldRange(OpBinder &b) {
  FailureOr<SmallVector<DenseElementsAttr>> operands = constants(b);
  if (failed(operands))
    return failure();
  if (operands->size() != 3 ||
      llvm::any_of(*operands, [](DenseElementsAttr x) { return x.getNumElements() != 1; }))
    return b.error() << "needs three scalars";
  Type element = operands->front().getElementType();
  auto fill = [&](auto zero) -> Folded {
    using T = decltype(zero);
    T start = elements<T>((*operands)[0])[0], limit = elements<T>((*operands)[1])[0],
      delta = elements<T>((*operands)[2])[0];
    double count = std::ceil((double(limit) - double(start)) / double(delta));
    if (std::isnan(count) || count > double(b.scope.foldBudget))
      return b.error() << "has no end that can be computed when compiling";
    int64_t size = count > 0 ? int64_t(count) : 0;
    if (failed(b.reserve(size)))
      return failure();
    SmallVector<T> numbers;
    for (int64_t i = 0; i < size; ++i)
      numbers.push_back(start + T(i) * delta);
    return make<T>(RankedTensorType::get({size}, element), numbers);
  };
  return isa<FloatType>(element) ? fill(double()) : fill(int64_t());
}

/// Integer reductions; those of floats are left to the step.
template <typename Combine> Folded foldReduction(OpBinder &b, int64_t identity, Combine combine) {
  DenseElementsAttr x = b.constant(0);
  RankedTensorType type = typeOf(x);
  assert(!isFloat(x) && "only integers are folded");
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(b, type.getRank());
  if (failed(axes) || failed(b.reserve(x.getNumElements())))
    return failure();
  SmallVector<int64_t> kept, strides(type.getRank(), 0);
  bool keep = b.integer("keepdims", 1);
  int64_t stride = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; --d)
    if (!llvm::is_contained(*axes, d)) {
      strides[d] = stride;
      stride *= type.getDimSize(d);
    }
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!llvm::is_contained(*axes, d))
      kept.push_back(type.getDimSize(d));
    else if (keep)
      kept.push_back(1);
  SmallVector<int64_t> result(stride, identity), numbers = elements<int64_t>(x);
  for (auto [i, target] : llvm::enumerate(offsets(type.getShape(), strides)))
    result[target] = combine(result[target], numbers[x.isSplat() ? 0 : i]);
  return make<int64_t>(RankedTensorType::get(kept, type.getElementType()), result);
}

Folded foldReduceProd(OpBinder &b) {
  return foldReduction(b, 1, [](int64_t a, int64_t b) { return int64_t(uint64_t(a) * b); });
}
Folded foldReduceSum(OpBinder &b) {
  return foldReduction(b, 0, [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + b); });
}
Folded foldReduceMax(OpBinder &b) {
  return foldReduction(b, std::numeric_limits<int64_t>::min(),
                       [](int64_t a, int64_t b) { return std::max(a, b); });
}
Folded foldReduceMin(OpBinder &b) {
  return foldReduction(b, std::numeric_limits<int64_t>::max(),
                       [](int64_t a, int64_t b) { return std::min(a, b); });
}

const Folder folders[] = {
    {"Constant", foldConstant},   {"ConstantOfShape", foldConstantOfShape},
    {"Range", foldRange},         {"ReduceMax", foldReduceMax},
    {"ReduceMin", foldReduceMin}, {"ReduceProd", foldReduceProd},
    {"ReduceSum", foldReduceSum},
};

} // namespace

ArrayRef<Folder> halfstep::creationFolders() { return folders; }

//===- FoldElements.cpp - The numbers of a constant -----------------------===//

#include "frontend/FoldElements.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::fold;

static int64_t toNumber(const APInt &value, Type type) {
  return type.isUnsignedInteger() || type.isInteger(1) ? int64_t(value.getZExtValue())
                                                       : value.getSExtValue();
}
static double toNumber(APFloat value, Type) {
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

static APInt fromNumber(int64_t number, Type type) {
  return APInt(type.getIntOrFloatBitWidth(), uint64_t(number), /*isSigned=*/true);
}
static APFloat fromNumber(double number, Type type) {
  APFloat value(number);
  bool inexact;
  value.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  return value;
}

template <typename T> using Stored = std::conditional_t<std::is_same_v<T, double>, APFloat, APInt>;

template <typename T> SmallVector<T> fold::elements(DenseElementsAttr constant) {
  Type type = constant.getElementType();
  if (constant.isSplat())
    return {toNumber(constant.getSplatValue<Stored<T>>(), type)};
  return llvm::map_to_vector(constant.getValues<Stored<T>>(),
                             [&](const Stored<T> &value) { return toNumber(value, type); });
}

template <typename T> DenseElementsAttr fold::make(RankedTensorType type, ArrayRef<T> numbers) {
  Type element = type.getElementType();
  if (element.isInteger(1))
    return DenseElementsAttr::get(
        type, llvm::map_to_vector(numbers, [](T number) { return number != T(0); }));
  return DenseElementsAttr::get(
      type, llvm::map_to_vector(numbers, [&](T n) { return fromNumber(n, element); }));
}

DenseElementsAttr fold::vectorOf(OpBinder &b, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, b.scope.builder.getI64Type());
  return make<int64_t>(type, values);
}

DenseElementsAttr fold::scalarOf(OpBinder &b, int64_t value) {
  return make<int64_t>(RankedTensorType::get({}, b.scope.builder.getI64Type()), value);
}

DenseElementsAttr fold::pick(DenseElementsAttr from, RankedTensorType type,
                             ArrayRef<int64_t> source) {
  if (from.isSplat())
    return from.resizeSplat(type);
  auto gather = [&](auto all) {
    using T = typename decltype(all)::value_type;
    return make<T>(type, llvm::map_to_vector(source, [&](int64_t i) { return all[i]; }));
  };
  return isFloat(from) ? gather(elements<double>(from)) : gather(elements<int64_t>(from));
}

SmallVector<int64_t> fold::stridesOf(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (int64_t d = int64_t(sizes.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * sizes[d + 1];
  return strides;
}

SmallVector<int64_t> fold::offsets(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                                   int64_t start) {
  SmallVector<int64_t> result;
  if (llvm::is_contained(sizes, 0))
    return result;
  SmallVector<int64_t> index(sizes.size());
  int64_t offset = start;
  while (true) {
    result.push_back(offset);
    int64_t d = int64_t(sizes.size()) - 1;
    for (; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < sizes[d])
        break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
    if (d < 0)
      return result;
  }
}

SmallVector<int64_t> fold::broadcastOffsets(ArrayRef<int64_t> from, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 0), own = stridesOf(from);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1)
      strides[sizes.size() - from.size() + d] = own[d];
  return offsets(sizes, strides);
}

FailureOr<SmallVector<DenseElementsAttr>> fold::constants(OpBinder &b) {
  SmallVector<DenseElementsAttr> result;
  for (unsigned i = 0; i < b.size(); ++i) {
    result.push_back(b.constant(i));
    if (result.back().getElementType() != result.front().getElementType())
      return b.error() << "operands have different element types";
  }
  return result;
}

template SmallVector<int64_t> fold::elements(DenseElementsAttr);
template SmallVector<double> fold::elements(DenseElementsAttr);
template DenseElementsAttr fold::make(RankedTensorType, ArrayRef<int64_t>);
template DenseElementsAttr fold::make(RankedTensorType, ArrayRef<double>);

//===- OpBinder.cpp - What an import rule sees of its node ----------------===//

#include "frontend/OpBinder.h"

#include "frontend/ShapeOperands.h"
#include "frontend/TensorProto.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cassert>

using namespace mlir;

namespace halfstep {

/// Elements of the largest tensor that is taken seriously; sizes in bytes stay far from overflow.
static constexpr int64_t largestTensor = int64_t(1) << 48;

//===----------------------------------------------------------------------===//
// GraphScope
//===----------------------------------------------------------------------===//

Binding *GraphScope::lookup(StringRef name) {
  auto it = bindings.find(name);
  return it == bindings.end() ? nullptr : &it->second;
}

Value GraphScope::materialize(StringRef name, Binding &binding, Location loc) {
  if (binding.value)
    return binding.value;
  RankedTensorType type = cast<RankedTensorType>(binding.constant.getType());
  if (type.getNumElements() == 0) {
    emitError(loc) << "'" << name << "' has no elements (" << type
                   << "): only Concat and ops on shapes take such a tensor; leave it out of the "
                      "model";
    return {};
  }
  if (!isComputeType(type.getElementType())) {
    emitError(loc) << "reads '" << name << "', a constant of type " << type
                   << ", which a training step cannot hold";
    return {};
  }
  if (binding.constant.isSplat()) {
    // At the top of the function, so that every later use is dominated.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&entry);
    return binding.value = builder.create<arith::ConstantOp>(loc, binding.constant);
  }
  if (isReservedName(name)) {
    emitError(loc) << "reads the constant '" << name
                   << "', which becomes a weight whose name begins "
                   << "with '" << kReservedPrefix
                   << "': checkpoints keep these names for themselves";
    return {};
  }
  Weight weight{name.str(), type, {}, {}};
  if (type.getElementType().isInteger(1)) {
    auto bytes = std::make_shared<std::string>();
    for (bool bit : binding.constant.getValues<bool>())
      bytes->push_back(bit);
    weight.bytes = ArrayRef<char>(bytes->data(), bytes->size());
    weight.storage = bytes;
  } else {
    weight.bytes = binding.constant.getRawData(); // lives as long as the context
  }
  weights.push_back(std::move(weight));
  return binding.value = entry.addArgument(type, NameLoc::get(builder.getStringAttr(name)));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

unsigned OpBinder::size() const {
  int count = node.input_size();
  while (count > 0 && node.input(count - 1).empty())
    --count;
  return count;
}

Binding *OpBinder::binding(unsigned i) {
  if (!has(i)) {
    error() << "operand " << i << " is missing";
    return nullptr;
  }
  Binding *result = scope.lookup(node.input(i));
  if (!result)
    error() << "reads '" << node.input(i) << "', which nothing before it computes";
  return result;
}

Value OpBinder::operand(unsigned i) {
  Binding *operand = binding(i);
  return operand ? scope.materialize(node.input(i), *operand, loc) : Value();
}

FailureOr<SmallVector<Value>> OpBinder::operands() {
  SmallVector<Value> values;
  for (unsigned i = 0; i < size(); ++i) {
    Value value = operand(i);
    if (!value)
      return failure();
    values.push_back(value);
  }
  return values;
}

FailureOr<SmallVector<Value>> OpBinder::numbers() {
  FailureOr<SmallVector<Value>> values = operands();
  if (failed(values))
    return failure();
  assert(!values->empty() && "onnx's checker wants operands where numbers are added up");
  Type element = getElementTypeOrSelf(values->front());
  for (Value value : *values)
    if (getElementTypeOrSelf(value) != element)
      return error() << "operands have different element types: " << element << " and "
                     << getElementTypeOrSelf(value);
  if (element.isInteger(1))
    return error() << "operands are booleans where numbers are needed";
  return values;
}

RankedTensorType OpBinder::type(unsigned i) {
  Binding *operand = binding(i);
  return operand ? operand->type() : RankedTensorType();
}

DenseElementsAttr OpBinder::constant(unsigned i) {
  Binding *operand = has(i) ? scope.lookup(node.input(i)) : nullptr;
  if (!operand)
    return {};
  // A weight's numbers are read where they are structure, not computation (a dropout ratio).
  if (operand->weight && operand->weight->type.getNumElements() <= 4096)
    return toAttribute(*operand->weight);
  return operand->constant;
}

void OpBinder::keepConstant(unsigned i) {
  Binding *operand = has(i) ? scope.lookup(node.input(i)) : nullptr;
  if (operand && operand->weight)
    scope.untrained.insert(operand->weight->name);
}

FailureOr<SmallVector<int64_t>> OpBinder::integers(unsigned i, StringRef what) {
  DenseElementsAttr numbers = constant(i);
  if (!numbers)
    return error() << what << " depend on data: operand " << i
                   << (has(i) ? " ('" + node.input(i) + "')" : std::string())
                   << " must be known when compiling";
  if (!isa<IntegerType>(numbers.getElementType()))
    return error() << what << " are not integers";
  if (numbers.getNumElements() > 4096)
    return error() << what << " are too many: " << numbers.getNumElements();
  return llvm::map_to_vector(numbers.getValues<APInt>(),
                             [](const APInt &value) { return value.getSExtValue(); });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const onnx::AttributeProto *OpBinder::attribute(StringRef name) const {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t OpBinder::integer(StringRef name, int64_t otherwise) const {
  const onnx::AttributeProto *found = attribute(name);
  return found ? found->i() : otherwise;
}

double OpBinder::number(StringRef name, double otherwise) const {
  const onnx::AttributeProto *found = attribute(name);
  return found ? found->f() : otherwise;
}

FailureOr<std::optional<SmallVector<int64_t>>> OpBinder::attributeOrOperand(StringRef name,
                                                                            unsigned i) {
  using Result = std::optional<SmallVector<int64_t>>;
  if (const onnx::AttributeProto *found = attribute(name))
    return Result(SmallVector<int64_t>(found->ints().begin(), found->ints().end()));
  if (!has(i))
    return Result();
  FailureOr<SmallVector<int64_t>> values = integers(i, name);
  if (failed(values))
    return failure();
  return Result(std::move(*values));
}

FailureOr<int64_t> OpBinder::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return error() << "axis " << axis << " is not a dimension of a tensor of rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> OpBinder::axes(ArrayRef<int64_t> axes, int64_t rank) const {
  SmallVector<int64_t> result;
  for (int64_t each : axes) {
    FailureOr<int64_t> normal = axis(each, rank);
    if (failed(normal))
      return failure();
    result.push_back(*normal);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return error() << "an axis is named twice";
  return result;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value OpBinder::scalar(Value like, double number) {
  Type element = getElementTypeOrSelf(like);
  auto type = RankedTensorType::get({}, element);
  Attribute value = isa<FloatType>(element)
                        ? Attribute(scope.builder.getFloatAttr(element, number))
                        : scope.builder.getIntegerAttr(element, int64_t(number));
  return scope.builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, value));
}

Value OpBinder::reshape(Value x, ArrayRef<int64_t> sizes) {
  if (!x || sizesOf(x) == sizes)
    return x;
  return create<train::ReshapeOp>(x, named("sizes", scope.builder.getDenseI64ArrayAttr(sizes)));
}

Value OpBinder::broadcast(Value x, ArrayRef<int64_t> sizes) {
  if (!x || sizesOf(x) == sizes)
    return x;
  return create<train::BroadcastOp>(x, named("sizes", scope.builder.getDenseI64ArrayAttr(sizes)));
}

Value OpBinder::convert(Value x, Type elementType) {
  if (!x || getElementTypeOrSelf(x) == elementType)
    return x;
  return create<train::CastOp>(x, named("to", TypeAttr::get(elementType)));
}

LogicalResult OpBinder::bind(unsigned i, Value value) {
  if (!value)
    return failure();
  std::optional<int64_t> count = elementCount(sizesOf(value));
  if (!count || *count == 0 || *count > largestTensor)
    return error() << "its result, " << value.getType()
                   << (count == 0 ? ", has no elements" : ", is impossibly large");
  if (uses(i))
    scope.bind(node.output(i), Binding::ofValue(value));
  return success();
}

LogicalResult OpBinder::bind(unsigned i, DenseElementsAttr constant) {
  if (!constant)
    return failure();
  if (uses(i))
    scope.bind(node.output(i), Binding::ofConstant(constant));
  return success();
}

LogicalResult OpBinder::bindEmpty(unsigned i, RankedTensorType type) {
  return bind(i, DenseElementsAttr::get(type, ArrayRef<Attribute>()));
}

LogicalResult OpBinder::forward() {
  Binding *source = binding(0);
  if (!source)
    return failure();
  if (uses(0))
    scope.bind(node.output(0), *source);
  return success();
}

LogicalResult OpBinder::reserve(int64_t elements) {
  if (elements > scope.foldBudget)
    return error() << "its constant result has " << elements
                   << " elements, too many to compute when compiling";
  scope.foldBudget -= elements;
  return success();
}

} // namespace halfstep

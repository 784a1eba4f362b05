//===- GroupWriter.cpp - A fusion group as a kernel -----------------------===//
//
// Buffers first: what is read from outside, each once for every way in which it is walked, then
// what is read outside. Then the scalar region, op by op.
//
//===----------------------------------------------------------------------===//

#include "passes/GroupWriter.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
class GroupWriter {
public:
  explicit GroupWriter(const FusionGroup &group) : group(group) {
    for (Operation *op : group.ops) {
      for (Value operand : elementOperands(op))
        addInput(op, operand);
      if (auto insert = dyn_cast<InsertOp>(op); insert && insert.getInto())
        addBuffer({insert.getInto(), group.resultWalk(op)});
    }
    for (Operation *op : group.ops)
      for (Value result : op->getResults())
        if (isReadOutside(result))
          results.push_back(result);
  }

  WrittenGroup write(OpBuilder &builder, StringRef prefix) {
    SmallVector<kernel::Buffer> arguments;
    for (auto &[root, walk] : buffers)
      arguments.push_back(buffer(root, walk));
    SmallVector<kernel::GroupOp::Result> outputs;
    for (Value result : results) {
      Walk walk = group.resultWalk(result.getDefiningOp());
      auto insert = result.getDefiningOp<InsertOp>();
      if (insert && insert.getInto())
        outputs.push_back(number({insert.getInto(), walk}));
      else
        outputs.push_back(buffer(result, walk));
    }
    auto locations = llvm::map_to_vector(group.ops, [](Operation *op) { return op->getLoc(); });
    Location location = FusedLoc::get(locations, {}, builder.getContext());
    auto kernel = kernel::GroupOp::create(
        builder, location, prefix.str() + name(), group.kernelSpace(), arguments, outputs,
        [&](OpBuilder &b, Location l, ValueRange elements) { return body(b, l, elements); });
    return {kernel, location,
            llvm::map_to_vector(buffers, [](const Key &buffer) { return buffer.first; }), results};
  }

private:
  using Key = std::pair<Value, Walk>; // root and how it is walked over the space

  std::string name() const {
    std::string result;
    constexpr unsigned kWords = 4; // a name, not a listing
    for (Operation *op : ArrayRef(group.ops.getArrayRef()).take_front(kWords))
      result += "_" + op->getName().stripDialect().str();
    return result + (group.ops.size() > kWords ? "_etc" : "");
  }

  kernel::Buffer buffer(Value root, const Walk &walk) const {
    return {typeOf(root).getElementType(), *group.kernelStrides(walk.strides), walk.offset};
  }
  void addBuffer(const Key &buffer) {
    if (!llvm::is_contained(buffers, buffer))
      buffers.push_back(buffer);
  }
  unsigned number(const Key &buffer) const { return llvm::find(buffers, buffer) - buffers.begin(); }

  bool isInside(Value root) const {
    return root.getDefiningOp() && group.ops.contains(root.getDefiningOp());
  }
  void addInput(Operation *op, Value operand) {
    Value root = resolve(operand).root;
    if (isComputedByReaders(operand))
      addScalars(root);
    else if (!isInside(root) && !root.getDefiningOp<IotaOp>())
      addBuffer({root, group.operandWalk(op, operand)});
  }
  /// The scalars that a value follows from which is computed here.
  void addScalars(Value root) {
    if (isa<BlockArgument>(root))
      addBuffer(scalarBuffer(root));
    else if (isa<ScalarOpInterface>(root.getDefiningOp()))
      for (Value operand : root.getDefiningOp()->getOperands())
        addScalars(resolve(operand).root);
  }
  Key scalarBuffer(Value root) const { return {root, {Sizes(group.space.size(), 0)}}; }
  bool isReadOutside(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isMovement(user) ? isReadOutside(user->getResult(0)) : !group.ops.contains(user);
    });
  }

  /// The element of `operand` at the current point of the space.
  Value element(ImplicitLocOpBuilder &b, ValueRange elements, Operation *op, Value operand) {
    Value root = resolve(operand).root;
    if (isComputedByReaders(operand))
      return computed(b, elements, root);
    if (isInside(root))
      return scalars.lookup(root);
    Walk walk = group.operandWalk(op, operand);
    return root.getDefiningOp<IotaOp>() ? position(b, walk) : elements[number({root, walk})];
  }

  /// A number that readers compute themselves, of constants and scalars.
  Value computed(ImplicitLocOpBuilder &b, ValueRange elements, Value root) {
    Operation *op = root.getDefiningOp();
    if (!op)
      return elements[number(scalarBuffer(root))];
    if (auto scalar = dyn_cast<ScalarOpInterface>(op)) {
      ExprBuilder e{b};
      return scalar
          .scalar(e, llvm::map_to_vector(op->getOperands(),
                                         [&](Value operand) {
                                           return computed(b, elements, resolve(operand).root);
                                         }))
          .value;
    }
    auto splat = cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    Type type = kernel::computeType(splat.getElementType());
    if (auto number = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>()))
      return b.create<arith::ConstantOp>(b.getFloatAttr(type, number.getValueAsDouble()));
    return b.create<arith::ConstantOp>(b.getIntegerAttr(type, splat.getSplatValue<APInt>()));
  }

  /// How far the walk has come from the first element of what it walks.
  Value position(ImplicitLocOpBuilder &b, const Walk &walk) {
    Value steps = b.create<kernel::IndexOp>(b.getI32Type(), *group.kernelStrides(walk.strides));
    Value offset = b.create<arith::ConstantOp>(b.getI32IntegerAttr(walk.offset));
    return b.createOrFold<arith::AddIOp>(steps, offset);
  }

  SmallVector<Value> body(OpBuilder &builder, Location location, ValueRange elements) {
    ImplicitLocOpBuilder b(location, builder);
    for (Operation *op : group.ops) {
      b.setLoc(op->getLoc());
      SmallVector<Value> operands;
      for (Value operand : elementOperands(op))
        operands.push_back(element(b, elements, op, operand));
      auto setResult = [&](Value result, Value scalar) {
        scalars[result] = rounded(b, scalar, typeOf(result).getElementType());
      };
      if (isa<InsertOp>(op)) {
        scalars[op->getResult(0)] = operands[0];
        continue;
      }
      if (auto map = dyn_cast<MapOp>(op)) {
        IRMapping mapping;
        mapping.map(map.getBody().getArguments(), operands);
        for (Operation &inner : map.getBody().front().without_terminator())
          b.clone(inner, mapping);
        for (auto [result, value] :
             llvm::zip(map.getResults(), map.getBody().front().getTerminator()->getOperands()))
          setResult(result, mapping.lookupOrDefault(value));
        continue;
      }
      if (auto reduction = dyn_cast<ReductionOpInterface>(op)) {
        setResult(op->getResult(0),
                  b.create<kernel::ReduceOp>(
                      operands[0].getType(), kernelKind(reduction.kind()), operands[0],
                      group.reducesRows() ? kernel::ReduceOver::Last : kernel::ReduceOver::Rows));
        continue;
      }
      ExprBuilder e{b};
      setResult(op->getResult(0), cast<ScalarOpInterface>(op).scalar(e, operands).value);
    }
    return llvm::map_to_vector(results, [&](Value result) { return scalars.lookup(result); });
  }

  /// A value of a 16-bit type between two ops of one kernel, as it would be in memory: fused and
  /// unfused programs give the same bits.
  static Value rounded(ImplicitLocOpBuilder &b, Value scalar, Type storage) {
    if (!storage.isF16() && !storage.isBF16())
      return scalar;
    Value narrow = b.create<arith::TruncFOp>(storage, scalar);
    return b.create<arith::ExtFOp>(scalar.getType(), narrow);
  }

  static kernel::ReduceKind kernelKind(ReductionKind kind) {
    switch (kind) {
    case ReductionKind::Add:
      return kernel::ReduceKind::Add;
    case ReductionKind::Max:
      return kernel::ReduceKind::Max;
    case ReductionKind::Min:
      return kernel::ReduceKind::Min;
    }
    llvm_unreachable("reduction kind");
  }

  const FusionGroup &group;
  SmallVector<Key> buffers;
  SmallVector<Value> results;
  DenseMap<Value, Value> scalars;
};
} // namespace

WrittenGroup halfstep::writeGroup(OpBuilder &builder, StringRef prefix, const FusionGroup &group) {
  return GroupWriter(group).write(builder, prefix);
}

table::LaunchOp halfstep::createLaunch(OpBuilder &builder, Location location, TypeRange types,
                                       kernel::GroupOp group, ValueRange operands) {
  int64_t arguments = group.getBlock().getNumArguments();
  auto updates = llvm::map_to_vector(
      group.getOuts(), [&](int64_t out) { return out < arguments ? out : int64_t(-1); });
  bool isUpdating = llvm::any_of(updates, [](int64_t operand) { return operand >= 0; });
  return builder.create<table::LaunchOp>(
      location, types, FlatSymbolRefAttr::get(group.getSymNameAttr()), operands, ArrayAttr(),
      isUpdating ? builder.getDenseI64ArrayAttr(updates) : DenseI64ArrayAttr());
}

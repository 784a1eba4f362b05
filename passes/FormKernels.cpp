//===- FormKernels.cpp - Values to kernels and library calls --------------===//
//
// FusionPlan decides what is computed together (the greedy growing of groups over one space is that
// of XLA's and TVM's fusion, with row reductions inside a group as in their softmax emitters); this
// pass writes each group down as a `kernel.group` with its launch, and everything else as library
// calls, generated products and aliases.
//
//===----------------------------------------------------------------------===//

#include "passes/BiasedProduct.h"
#include "passes/FusionPlan.h"
#include "passes/Passes.h"
#include "passes/WindowEntries.h"
#include "llvm/ADT/MapVector.h"

namespace halfstep {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Writes one group: its buffers, its scalar region, its launch.
class GroupWriter {
public:
  GroupWriter(const FusionGroup &group) : group(group) {
    for (Operation *op : group.ops) {
      locations.push_back(op->getLoc());
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

  Location location() const { return FusedLoc::get(locations, {}, locations[0]->getContext()); }
  ArrayRef<Value> stored() const { return results; }
  SmallVector<Value> inputs() const {
    return llvm::map_to_vector(buffers, [](const Key &buffer) { return buffer.first; });
  }

  std::string name() const {
    std::string result;
    constexpr unsigned kWords = 4; // a name, not a listing
    for (Operation *op : ArrayRef(group.ops.getArrayRef()).take_front(kWords))
      result += "_" + op->getName().stripDialect().str();
    return result + (group.ops.size() > kWords ? "_etc" : "");
  }

  kernel::GroupOp write(OpBuilder &builder, StringRef symbol) {
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
    return kernel::GroupOp::create(
        builder, location(), symbol, group.kernelSpace(), arguments, outputs,
        [&](OpBuilder &b, Location l, ValueRange elements) { return body(b, l, elements); });
  }

private:
  using Key = std::pair<Value, Walk>; // root and how it is walked over the space

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
    if (isInside(root) || isUniformConstant(operand) || root.getDefiningOp<IotaOp>())
      return;
    addBuffer({root, group.operandWalk(op, operand)});
  }
  bool isReadOutside(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isMovement(user) ? isReadOutside(user->getResult(0)) : !group.ops.contains(user);
    });
  }

  /// The element of `operand` at the current point of the space.
  Value element(ImplicitLocOpBuilder &b, ValueRange elements, Operation *op, Value operand) {
    Value root = resolve(operand).root;
    if (isUniformConstant(operand))
      return constant(b, root);
    if (isInside(root))
      return scalars.lookup(root);
    Walk walk = group.operandWalk(op, operand);
    return root.getDefiningOp<IotaOp>() ? position(b, walk) : elements[number({root, walk})];
  }

  /// A number that is known now, computed here; LLVM folds it.
  Value constant(ImplicitLocOpBuilder &b, Value root) {
    Operation *op = root.getDefiningOp();
    if (auto scalar = dyn_cast<ScalarOpInterface>(op)) {
      ExprBuilder e{b};
      return scalar
          .scalar(e, llvm::map_to_vector(
                         op->getOperands(),
                         [&](Value operand) { return constant(b, resolve(operand).root); }))
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
  SmallVector<Location> locations;
  SmallVector<Key> buffers;
  SmallVector<Value> results;
  DenseMap<Value, Value> scalars;
};

struct FormKernels : halfstep::impl::FormKernelsPassBase<FormKernels> {
  using Base::Base;

  DenseMap<Value, Value> memory; // what holds a value, by the value
  unsigned kernels = 0;

  Value stored(Value root) { return isa<BlockArgument>(root) ? root : memory.lookup(root); }

  /// The value in memory, under its own type: contiguous views are aliases.
  Value materialised(OpBuilder &b, Value value) { return materialised(b, value, value.getType()); }
  Value materialised(OpBuilder &b, Value value, Type type) {
    Access access = resolve(value);
    Value root = stored(access.root);
    if (root.getType() == type)
      return root;
    return b.create<table::AliasOp>(value.getLoc(), type, root, access.offset);
  }

  std::string symbol(func::FuncOp function, StringRef name) {
    return (function.getSymName() + "_" + Twine(kernels++) + name).str();
  }

  static table::LaunchOp createLaunch(OpBuilder &b, Location location, TypeRange types,
                                      kernel::GroupOp group, ValueRange operands) {
    int64_t arguments = group.getBlock().getNumArguments();
    auto updates = llvm::map_to_vector(
        group.getOuts(), [&](int64_t out) { return out < arguments ? out : int64_t(-1); });
    bool isUpdating = llvm::any_of(updates, [](int64_t operand) { return operand >= 0; });
    return b.create<table::LaunchOp>(
        location, types, FlatSymbolRefAttr::get(group.getSymNameAttr()), operands, ArrayAttr(),
        isUpdating ? b.getDenseI64ArrayAttr(updates) : DenseI64ArrayAttr());
  }

  void launch(OpBuilder &b, Location location, kernel::GroupOp group, ArrayRef<Value> inputs,
              ArrayRef<Value> results) {
    SmallVector<Value> operands;
    for (Value input : inputs)
      operands.push_back(stored(input));
    auto types = llvm::map_to_vector(results, [](Value v) { return v.getType(); });
    auto split = kernel::splitReduction(group);
    if (!split) {
      auto op = createLaunch(b, location, types, group, operands);
      for (auto [result, value] : llvm::zip(results, op.getResults()))
        memory[result] = value;
      return;
    }
    SmallVector<Type> partialTypes;
    for (unsigned i = 0; i < split->partialValues; ++i) {
      int64_t elements = 1; // packed over the dimensions that it varies along
      for (auto [size, stride] :
           llvm::zip(split->final.getSpace(), split->final.getBufferStrides(i)))
        elements *= stride ? size : 1;
      partialTypes.push_back(RankedTensorType::get(elements, split->final.getStorageType(i)));
    }
    for (unsigned i : split->partialResults)
      partialTypes.push_back(types[i]);
    auto pick = [&](ArrayRef<unsigned> indices) {
      return llvm::map_to_vector(indices, [&](unsigned i) { return operands[i]; });
    };
    auto partial =
        createLaunch(b, location, partialTypes, split->partial, pick(split->partialArguments));
    SmallVector<Value> finalOperands(partial.getResults().take_front(split->partialValues));
    finalOperands.append(pick(split->finalArguments));
    auto finalTypes =
        llvm::map_to_vector(split->finalResults, [&](unsigned i) { return types[i]; });
    auto last = createLaunch(b, location, finalTypes, split->final, finalOperands);
    for (auto [i, value] :
         llvm::zip(split->partialResults, partial.getResults().drop_front(split->partialValues)))
      memory[results[i]] = value;
    for (auto [i, value] : llvm::zip(split->finalResults, last.getResults()))
      memory[results[i]] = value;
  }

  /// Tiny products, and all in f64, are generated loops: a library call costs more than they do.
  Value product(OpBuilder &b, OpBuilder &symbols, func::FuncOp function, Location location,
                MatmulOp op, Value bias) {
    constexpr int64_t kTiny = 32768; // multiplications
    RankedTensorType a = typeOf(op.getA()), c = typeOf(op.getY());
    int64_t rank = c.getRank(), m = c.getDimSize(rank - 2), n = c.getDimSize(rank - 1);
    int64_t k = a.getDimSize(a.getRank() - (op.getTransA() ? 2 : 1));
    int64_t batch = ShapedType::getNumElements(c.getShape().drop_back(2));
    Value x = materialised(b, op.getA()), y = materialised(b, op.getB());
    Type element = c.getElementType();
    if (bias)
      bias = materialised(b, bias, RankedTensorType::get(n, element));
    if (!element.isF64() && batch * m * n * k > kTiny)
      return b.create<table::GemmOp>(location, c, x, y, bias, op.getTransA(), op.getTransB(),
                                     ArrayAttr());
    auto repeats = [&](Value v) {
      return batch > 1 && ShapedType::getNumElements(typeOf(v).getShape().drop_back(2)) == 1;
    };
    auto contract = kernel::ContractOp::create(
        symbols, location, symbol(function, bias ? "_matmul_add" : "_matmul"), element,
        {batch, m, n, k}, op.getTransA(), op.getTransB(), repeats(x), repeats(y), bool(bias));
    SmallVector<Value> operands{x, y};
    if (bias)
      operands.push_back(bias);
    return b
        .create<table::LaunchOp>(location, c, FlatSymbolRefAttr::get(contract.getSymNameAttr()),
                                 operands, ArrayAttr())
        .getResult(0);
  }

  /// Convolutions and pooling.
  void windowEntry(OpBuilder &b, OpBuilder &symbols, func::FuncOp function, Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(materialised(b, operand));
    Value result = op->getResult(0), computed = createWindowEntry(b, op, operands);
    bool isPartial = typeOf(computed).getRank() != typeOf(result).getRank();
    memory[result] =
        isPartial ? sumOfParts(b, symbols, function, computed, typeOf(result)) : computed;
  }

  /// The sum over the first dimension, rounded once.
  Value sumOfParts(OpBuilder &b, OpBuilder &symbols, func::FuncOp function, Value parts,
                   RankedTensorType type) {
    int64_t count = typeOf(parts).getDimSize(0), elements = type.getNumElements();
    if (count == 1 && typeOf(parts).getElementType() == type.getElementType())
      return b.create<table::AliasOp>(parts.getLoc(), type, parts);
    auto group = kernel::GroupOp::create(
        symbols, parts.getLoc(), symbol(function, "_sum_of_parts"), {count, elements},
        kernel::Buffer{typeOf(parts).getElementType(), {elements, 1}},
        {kernel::Buffer{type.getElementType(), {0, 1}}},
        [](OpBuilder &b, Location l, ValueRange elements) -> SmallVector<Value> {
          return {b.create<kernel::ReduceOp>(l, elements[0].getType(), kernel::ReduceKind::Add,
                                             elements[0], kernel::ReduceOver::Rows)};
        });
    return b
        .create<table::LaunchOp>(parts.getLoc(), type,
                                 FlatSymbolRefAttr::get(group.getSymNameAttr()), parts, ArrayAttr())
        .getResult(0);
  }

  void formKernels(func::FuncOp function) {
    FusionPlan plan(function, fuse);
    Operation *terminator = function.front().getTerminator();
    OpBuilder entries(terminator), symbols(function);
    SmallVector<Operation *> old;
    for (Operation &op : function.front().without_terminator())
      old.push_back(&op);
    for (const FusionPlan::Step &step : plan.steps()) {
      if (step.group) {
        GroupWriter writer(*step.group);
        auto group = writer.write(symbols, symbol(function, writer.name()));
        launch(entries, writer.location(), group, writer.inputs(), writer.stored());
      } else if (auto biased = biasedProduct(step.op)) {
        auto location = FusedLoc::get(&getContext(), {biased->matmul.getLoc(), step.op->getLoc()});
        memory[step.op->getResult(0)] =
            product(entries, symbols, function, location, biased->matmul, biased->bias);
      } else if (auto matmul = dyn_cast<MatmulOp>(step.op); matmul && !isFinishedByReader(matmul)) {
        memory[matmul.getY()] =
            product(entries, symbols, function, matmul.getLoc(), matmul, Value());
      } else if (step.op->hasTrait<OwnEntry>() && !isa<MatmulOp>(step.op)) {
        windowEntry(entries, symbols, function, step.op);
      }
    }
    for (OpOperand &operand : terminator->getOpOperands())
      operand.set(materialised(entries, operand.get()));
    for (Operation *op : llvm::reverse(old))
      op->erase();
  }

  void runOnOperation() override {
    kernels = 0;
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      memory.clear();
      formKernels(function);
    }
  }
};
} // namespace

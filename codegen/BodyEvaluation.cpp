//===- BodyEvaluation.cpp - a group's body at a row, and at a vector of columns -------------===//

#include "codegen/BodyEvaluation.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

/// Clones an operation of the body at `width` points.
static Value cloneAt(KernelBuilder &b, Operation &op, int64_t width,
                     llvm::function_ref<Value(Value)> get) {
  // Between operations, as in memory, bf16 is its bits.
  Type type = op.getResult(0).getType();
  if (isa<arith::TruncFOp>(op) && type.isBF16())
    return b.narrow(get(op.getOperand(0)), type);
  if (isa<arith::ExtFOp>(op) && op.getOperand(0).getType().isBF16())
    return b.widen(get(op.getOperand(0)), op.getOperand(0).getType());
  IRMapping map;
  for (Value operand : op.getOperands())
    map.map(operand, get(operand));
  Value result = b.clone(op, map)->getResult(0);
  result.setType(KernelBuilder::vectorOf(result.getType(), width));
  return result;
}

/// first, or 0 if it is null, as i32.
static Value indexFrom(KernelBuilder &b, Value first) {
  return first ? b.toI32(first) : b.constant(b.getI32Type(), 0);
}

/// first, first + stride, ... as i32.
static Value countFrom(KernelBuilder &b, Value first, int64_t width, int64_t stride) {
  auto type = cast<VectorType>(KernelBuilder::vectorOf(b.getI32Type(), width));
  SmallVector<int32_t> offsets;
  for (int64_t i = 0; i < type.getDimSize(0); ++i)
    offsets.push_back(int32_t(i * stride));
  return b.add(b.splat(indexFrom(b, first), width),
               b.create<arith::ConstantOp>(b.getI32VectorAttr(offsets)));
}

/// x + y * stride, where null is 0.
static Value advanced(KernelBuilder &b, Value x, Value y, int64_t stride) {
  if (!stride || !y)
    return x;
  Value step = b.mul(y, stride);
  return x ? b.add(x, step) : step;
}

ValueMap halfstep::codegen::computeUniformValues(KernelBuilder &b, const KernelForm &form,
                                                 ValueRange buffers) {
  ValueMap values;
  Block &body = GroupOp(form.group).getBlock();
  for (BlockArgument argument : body.getArguments())
    if (form.isUniform(argument) && !argument.use_empty()) {
      unsigned i = argument.getArgNumber();
      values[argument] = b.load(buffers[i], form.buffers[i].storage, 0);
    }
  for (Operation &op : body.without_terminator())
    if (form.isUniform(op.getResult(0)))
      values[op.getResult(0)] =
          isa<IndexOp>(op) ? indexFrom(b, Value()) // varies along dimensions of size 1 only
                           : cloneAt(b, op, 0, [&](Value x) { return values.lookup(x); });
  return values;
}

//===---------------------------------------------------------------------------------------===//
// Row
//===---------------------------------------------------------------------------------------===//

Row::Row(KernelBuilder &b, const KernelForm &form, ValueRange buffers, const ValueMap &uniform,
         Value row, Value depth)
    : form(form), values(uniform), positions(form.outer.size()), depth(depth) {
  for (size_t i = positions.size(); i-- > 0;) {
    positions[i] = i == 0 ? row : b.remainder(row, form.outer[i]);
    row = i == 0 ? row : b.divide(row, form.outer[i]);
  }
  for (auto [pointer, view] : llvm::zip(buffers, form.buffers)) {
    Value start = pointer ? offset(b, view) : Value();
    pointers.push_back(start ? b.element(pointer, view.storage, start) : pointer);
  }
}

Value Row::offset(KernelBuilder &b, const View &view) const {
  Value sum;
  for (auto [position, stride] : llvm::zip(positions, view.outer))
    sum = advanced(b, sum, position, stride);
  return advanced(b, sum, depth, view.depth);
}

void Row::advanceDepth(KernelBuilder &b, Value position) {
  for (auto [pointer, view] : llvm::zip(pointers, form.buffers))
    if (pointer && view.depth)
      pointer = b.element(pointer, view.storage, b.mul(position, view.depth));
}

void Row::computeValues(KernelBuilder &b, unsigned walk) {
  Block &body = GroupOp(form.group).getBlock();
  for (BlockArgument argument : body.getArguments())
    if (!form.isElement(argument) && !values.count(argument) && !argument.use_empty() &&
        (depth || !form.variesAlongDepth(argument))) {
      unsigned i = argument.getArgNumber();
      values[argument] = b.load(pointers[i], form.buffers[i].storage, 0);
    }
  for (Operation &op : body.without_terminator()) {
    Value value = op.getResult(0);
    if (form.isElement(value) || isa<ReduceOp>(op) || values.count(value) ||
        form.values.phase(value) > walk || (!depth && form.variesAlongDepth(value)))
      continue;
    values[value] = isa<IndexOp>(op)
                        ? indexFrom(b, offset(b, form.indices.lookup(&op)))
                        : cloneAt(b, op, 0, [&](Value operand) { return values.lookup(operand); });
  }
}

//===---------------------------------------------------------------------------------------===//
// RowBlock
//===---------------------------------------------------------------------------------------===//

RowBlock::RowBlock(KernelBuilder &b, const KernelForm &form, ValueRange buffers,
                   const ValueMap &uniform, Value firstRow, int64_t count)
    : form(form) {
  for (int64_t i = 0; i < count; ++i)
    rows.emplace_back(b, form, buffers, uniform, b.add(firstRow, i));
  for (auto [value, scalar] : uniform)
    computed[value] = b.splat(scalar, count);
}

Value RowBlock::get(KernelBuilder &b, Value value) {
  if (Value known = computed.lookup(value))
    return known;
  int64_t count = rows.size();
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber();
    result = b.loadStrided(rows[0].pointers[i], form.buffers[i].storage, count, rowStride(i));
  } else if (auto index = value.getDefiningOp<IndexOp>()) {
    const View &view = form.indices.find(index)->second;
    result =
        countFrom(b, rows[0].offset(b, view), count, view.outer.empty() ? 0 : view.outer.back());
  } else {
    result =
        cloneAt(b, *value.getDefiningOp(), count, [&](Value operand) { return get(b, operand); });
  }
  return computed[value] = result;
}

void RowBlock::giveToRows(KernelBuilder &b, unsigned walk) {
  auto give = [&](Value value) {
    if (form.isElement(value) || form.values.phase(value) > walk || rows[0].values.count(value))
      return;
    Value all = get(b, value);
    for (auto [i, row] : llvm::enumerate(rows))
      row.values[value] = b.create<vector::ExtractOp>(all, i);
  };
  Block &body = GroupOp(form.group).getBlock();
  llvm::for_each(body.getArguments(), give);
  for (Operation &op : body.without_terminator())
    give(op.getResult(0));
}

void RowBlock::store(KernelBuilder &b, ArrayRef<KernelForm::Store> stores) {
  SmallVector<Value> values;
  for (KernelForm::Store store : stores)
    values.push_back(get(b, store.value));
  for (auto [store, value] : llvm::zip(stores, values))
    b.storeStrided(value, rows[0].pointers[store.buffer], form.buffers[store.buffer].storage,
                   rows.size(), rowStride(store.buffer));
}

//===---------------------------------------------------------------------------------------===//
// Tile
//===---------------------------------------------------------------------------------------===//

Value Tile::address(KernelBuilder &b, unsigned buffer) const {
  const View &view = row.form.buffers[buffer];
  if (!view.inner)
    return row.pointers[buffer];
  return b.element(row.pointers[buffer], view.storage, b.mul(column, view.inner));
}

Value Tile::get(KernelBuilder &b, Value value) {
  if (Value known = computed.lookup(value))
    return known;
  Value result;
  if (!row.form.isElement(value)) {
    result = b.splat(row.values.lookup(value), width);
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    const View &view = row.form.buffers[argument.getArgNumber()];
    result = loader ? loader(b, argument.getArgNumber())
                    : b.loadStrided(address(b, argument.getArgNumber()), view.storage, width,
                                    view.inner);
  } else if (auto index = value.getDefiningOp<IndexOp>()) {
    const View &view = row.form.indices.find(index)->second;
    result = countFrom(b, advanced(b, row.offset(b, view), column, view.inner), width, view.inner);
  } else {
    result =
        cloneAt(b, *value.getDefiningOp(), width, [&](Value operand) { return get(b, operand); });
  }
  return computed[value] = result;
}

void Tile::store(KernelBuilder &b, ArrayRef<KernelForm::Store> stores) {
  SmallVector<Value> values;
  for (KernelForm::Store store : stores)
    values.push_back(get(b, store.value));
  for (auto [store, value] : llvm::zip(stores, values)) {
    const View &view = row.form.buffers[store.buffer];
    b.storeStrided(value, address(b, store.buffer), view.storage, width, view.inner);
  }
}

//===- EmitCpuRows.cpp - groups with reductions over the last dimension --------------------===//
//
// Rows that fit one vector are read once and stay in registers, several of them at a time: their
// reductions share their steps. A longer row is walked once for each reduction that waits for
// another, and once more for what waits for the last.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CpuGroupEmitter.h"
#include "ir/ReductionTree.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

void CpuGroupEmitter::emitRowUnit(Value unit) {
  if (hasShortRows()) {
    int64_t full = lastOuter() / blockRows(), rest = lastOuter() % blockRows();
    int64_t blocks = full + (rest > 0);
    Value block = b.remainder(unit, blocks);
    Value firstRow = b.add(b.mul(b.divide(unit, blocks), lastOuter()), b.mul(block, blockRows()));
    auto emitFull = [&] { emitShortRows(firstRow, blockRows()); };
    auto emitRest = [&] { emitShortRows(firstRow, rest); };
    if (full && rest)
      b.ifLess(block, b.constant(full), emitFull, emitRest);
    else if (full)
      emitFull();
    else
      emitRest();
    return;
  }
  bool isPartial = GroupOp(form.group).getPartial();
  int64_t chunks = isPartial ? RowTree(form.columns).chunks : 1;
  Value chunk = isPartial ? b.remainder(unit, chunks) : Value();
  Row row(b, form, buffers, uniform, b.divide(unit, chunks));
  emitLongRow(row, chunk);
  storeRow(row, chunk);
}

void CpuGroupEmitter::emitShortRows(Value firstRow, int64_t count) {
  RowBlock block(b, form, buffers, uniform, firstRow, count);
  SmallVector<Tile> tiles;
  for (Row &row : block.rows)
    tiles.emplace_back(row, b.constant(0), form.columns);
  SmallVector<KernelForm::Store> stores;
  for (unsigned walk = 0; walk < form.values.walks(); ++walk) {
    block.giveToRows(b, walk);
    for (ReduceOp reduce : form.reductions(walk)) {
      SmallVector<Value> values;
      for (Tile &tile : tiles)
        values.push_back(tile.get(b, reduce.getInput()));
      block.set(reduce.getResult(), b.combineEach(reduce.getKind(), values, form.columns));
    }
    stores.append(form.elementStores(walk));
  }
  for (Tile &tile : tiles)
    tile.store(b, stores);
  block.store(b, form.rowStores());
}

void CpuGroupEmitter::emitLongRow(Row &row, Value chunk) {
  if (!chunk)
    chooseKeptValues();
  for (unsigned walk = 0; walk < form.values.walks(); ++walk) {
    row.computeValues(b, walk);
    SmallVector<ReduceOp> reduces = form.reductions(walk);
    SmallVector<KernelForm::Store> stores = form.elementStores(walk);
    auto evaluate = [&](Value column, int64_t count) {
      Tile tile = walkTile(row, column, count, walk);
      SmallVector<Value> values;
      for (ReduceOp reduce : reduces)
        values.push_back(tile.get(b, reduce.getInput()));
      for (auto [value, array] : kept)
        if (form.values.phase(value) == walk)
          b.store(tile.get(b, value), b.element(array, value.getType(), column), value.getType(),
                  count);
      tile.store(b, stores);
      return values;
    };
    if (reduces.empty()) {
      if (!stores.empty())
        forTiles(b, {form.columns, 1, form.columns, Value()}, width,
                 [&](Value column, int64_t count) { evaluate(column, count); });
      continue;
    }
    RowReduction reduction(b, entry, width);
    for (ReduceOp reduce : reduces)
      reduction.add(reduce.getKind(), reduce.getType());
    SmallVector<Value> results = chunk ? reduction.reduceChunk(form.columns, chunk, evaluate)
                                       : reduction.reduce(form.columns, evaluate);
    for (auto [reduce, result] : llvm::zip(reduces, results))
      row.values[reduce.getResult()] = result;
  }
}

void CpuGroupEmitter::storeRow(Row &row, Value chunk) {
  row.computeValues(b, form.values.walks());
  for (KernelForm::Store store : form.rowStores()) {
    const View &view = form.buffers[store.buffer];
    Value pointer = row.pointers[store.buffer];
    if (chunk)
      pointer = b.element(pointer, view.storage, b.mul(chunk, view.inner));
    b.store(row.values.lookup(store.value), pointer, view.storage, 0);
  }
}

/// Exponentials and their like are not computed twice, as long as rows of them fit the first caches
/// (and a thread's stack, however many there are).
void CpuGroupEmitter::chooseKeptValues() {
  constexpr int64_t mostElements = 1 << 15;
  int64_t room = mostElements / std::max<int64_t>(form.columns, 1);
  for (Operation &op : GroupOp(form.group).getBlock().without_terminator()) {
    Value value = op.getResult(0);
    if (isElementaryFunction(op) && form.isElement(value) &&
        form.values.lastWalk(value) > form.values.phase(value) && room-- > 0)
      kept[value] = b.stack(entry, value.getType(), form.columns);
  }
}

Tile CpuGroupEmitter::walkTile(const Row &row, Value column, int64_t count, unsigned walk) {
  Tile tile(row, column, count);
  for (auto [value, array] : kept)
    if (walk > form.values.phase(value))
      tile.set(value, b.load(b.element(array, value.getType(), column), value.getType(), count));
  return tile;
}

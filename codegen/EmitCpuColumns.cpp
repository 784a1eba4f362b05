//===- EmitCpuColumns.cpp - groups with reductions over rows -------------------------------===//
//
// A unit is one chunk of ColumnTree for a block of columns: its leaves are folded one after the
// other into an array on the stack, then combined, and the epilogue is computed on the results.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CpuGroupEmitter.h"
#include "ir/ReductionTree.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

void CpuGroupEmitter::emitColumnUnit(Value unit) {
  ColumnTree tree(form.depth);
  int64_t blocks = llvm::divideCeil(form.columns, columnBlock);
  int64_t blockWidth = std::min(form.columns, columnBlock);
  Value block = b.remainder(unit, blocks);
  Value chunk = b.remainder(b.divide(unit, blocks), tree.chunks);
  Value batch = b.divide(unit, blocks * tree.chunks);
  Value firstColumn = b.mul(block, columnBlock);
  SmallVector<ReduceOp> reduces = form.reductions(0);

  SmallVector<Value> leaves; // [leaf][column of the block], a reduction each
  for (ReduceOp reduce : reduces)
    leaves.push_back(b.stack(entry, reduce.getType(), ColumnTree::leaves * blockWidth));
  auto leafAddress = [&](unsigned i, Value leaf, Value column) {
    Value index = b.add(b.mul(leaf, blockWidth), b.sub(column, firstColumn));
    return b.element(leaves[i], ReduceOp(reduces[i]).getType(), index);
  };
  auto forColumns = [&](llvm::function_ref<void(Value, int64_t)> tile) {
    if (form.columns <= shortRow)
      tile(b.constant(0), form.columns);
    else
      forTiles(b, {form.columns, blocks, columnBlock, block}, width, tile);
  };

  b.loop(b.constant(0), b.constant(ColumnTree::leaves), 1, [&](Value leaf) {
    Value from = b.mul(b.add(b.mul(chunk, ColumnTree::leaves), leaf), tree.leaf);
    Value to = b.smaller(b.add(from, tree.leaf), b.constant(tree.rows));
    forColumns([&](Value column, int64_t count) {
      SmallVector<Value> identities;
      for (ReduceOp reduce : reduces)
        identities.push_back(b.identity(reduce.getKind(), reduce.getType(), count));
      SmallVector<Value> sums =
          b.fold(from, to, 1, identities, [&](Value depth, SmallVector<Value> values) {
            Row row(b, form, buffers, uniform, batch, depth);
            row.computeValues(b, 0);
            Tile tile(row, column, count);
            for (auto [reduce, value] : llvm::zip(reduces, values))
              value = b.combine(reduce.getKind(), value, tile.get(b, reduce.getInput()));
            tile.store(b, form.elementStores(0));
            return values;
          });
      for (auto [i, sum] : llvm::enumerate(sums))
        b.store(sum, leafAddress(i, leaf, column), reduces[i].getType(), count);
    });
  });

  forColumns([&](Value column, int64_t count) {
    Row row(b, form, buffers, uniform, batch);
    if (GroupOp(form.group).getPartial())
      row.advanceDepth(b, chunk);
    row.computeValues(b, 1);
    Tile tile(row, column, count);
    for (auto [i, reduce] : llvm::enumerate(reduces)) {
      SmallVector<Value> values;
      for (int64_t leaf = 0; leaf < ColumnTree::leaves; ++leaf)
        values.push_back(b.load(leafAddress(i, b.constant(leaf), column), reduce.getType(), count));
      for (; values.size() > 1; values.resize(values.size() / 2))
        for (size_t pair = 0; pair < values.size() / 2; ++pair)
          values[pair] = b.combine(reduce.getKind(), values[2 * pair], values[2 * pair + 1]);
      tile.set(reduce.getResult(), values[0]);
    }
    tile.store(b, form.elementStores(1));
  });
}

//===- EmitCudaColumns.cpp - groups with reductions over rows ------------------------------===//
//
// A block is one chunk of ColumnTree for neighbouring columns: a warp folds a leaf, each of its
// lanes for a few columns; the leaves meet in shared memory, where a thread combines them for one
// column and computes the epilogue.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaGroupEmitter.h"
#include "ir/ReductionTree.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

static_assert(ColumnTree::leaves * warpLanes == blockThreads, "a warp a leaf");

void CudaGroupEmitter::emitColumns() {
  GroupOp group = form.group;
  ColumnTree tree(form.depth);
  int64_t width = 8, columnBytes = 0; // columns of a lane; a column's leaves of all reductions
  for (ReduceOp reduce : form.reductions(0))
    columnBytes += ColumnTree::leaves * bytesOf(reduce.getType());
  while (form.columns % width || (width > 1 && width * warpLanes * columnBytes > mostSharedBytes))
    width /= 2;
  int64_t blockColumns = width * warpLanes;
  int64_t blocks = llvm::divideCeil(form.columns, blockColumns);
  grid = {form.rows * tree.chunks * blocks, blockThreads};

  Value number = b.toIndex(b.block(), indexType), thread = b.toIndex(b.thread(), indexType);
  Value firstColumn = b.mul(b.remainder(number, blocks), blockColumns);
  Value chunk = b.remainder(b.divide(number, blocks), tree.chunks);
  Value batch = b.divide(number, blocks * tree.chunks);
  Value lane = b.remainder(thread, warpLanes), leaf = b.divide(thread, warpLanes);

  uniform = computeUniformValues(b, form, buffers);
  SmallVector<ReduceOp> reduces = form.reductions(0);
  SmallVector<Value> leaves; // [leaf][column of the block], a reduction each
  for (ReduceOp reduce : reduces)
    leaves.push_back(b.shared(reduce.getType(), ColumnTree::leaves * blockColumns));

  Value column = b.add(firstColumn, b.mul(lane, width));
  Guard guard = guardOf(column, width, form.columns, form.columns % blockColumns == 0);
  Value from = b.mul(b.add(b.mul(chunk, ColumnTree::leaves), leaf), tree.leaf);
  Value to = b.smaller(b.add(from, tree.leaf), position(tree.rows));
  SmallVector<Value> identities;
  for (ReduceOp reduce : reduces)
    identities.push_back(b.identity(reduce.getKind(), reduce.getType(), width));
  SmallVector<Value> sums =
      b.fold(from, to, 1, identities, [&](Value depth, SmallVector<Value> values) {
        Row row(b, form, buffers, uniform, batch, depth);
        row.computeValues(b, 0);
        Tile tile = tileAt(row, column, width, guard);
        for (auto [reduce, value] : llvm::zip(reduces, values))
          value = b.combine(reduce.getKind(), value, tile.get(b, reduce.getInput()));
        storeTile(tile, row, column, width, guard, form.elementStores(0));
        return values;
      });
  Value at = b.add(b.mul(leaf, blockColumns), b.mul(lane, width));
  for (auto [reduce, sum, array] : llvm::zip(reduces, sums, leaves)) {
    Type type = reduce.getType();
    b.store(sum, b.element(array, type, at), type, width, alignmentFor(type, width, {}));
  }
  b.barrier();

  Value own = b.add(firstColumn, thread);
  Value isThere = blockColumns < blockThreads ? b.isBelow(thread, blockColumns) : Value();
  if (form.columns % blockColumns)
    isThere = b.both(isThere, b.isBelow(own, form.columns));
  b.when(isThere, [&] {
    Row row(b, form, buffers, uniform, batch);
    if (group.getPartial())
      row.advanceDepth(b, chunk);
    row.computeValues(b, 1);
    Tile tile = tileAt(row, own, 1, Guard());
    for (auto [reduce, array] : llvm::zip(reduces, leaves)) {
      Type type = reduce.getType();
      SmallVector<Value> values;
      for (int64_t leaf = 0; leaf < ColumnTree::leaves; ++leaf)
        values.push_back(
            b.load(b.element(array, type, b.add(thread, leaf * blockColumns)), type, 1));
      for (; values.size() > 1; values.resize(values.size() / 2))
        for (size_t pair = 0; pair < values.size() / 2; ++pair)
          values[pair] = b.combine(reduce.getKind(), values[2 * pair], values[2 * pair + 1]);
      tile.set(reduce.getResult(), values[0]);
    }
    storeTile(tile, row, own, 1, Guard(), form.elementStores(1));
  });
}

//===- CpuReduction.cpp - the tree of a row, on vectors ------------------------------------===//
//
// The accumulators of a chunk are an array on the stack, gone through with the row: memory is read
// in its order, whatever the number of accumulators, and the array stays in the first-level cache.
// Combining neighbours then halves the array in place until it fits into registers.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CpuReduction.h"
#include "ir/ReductionTree.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

void halfstep::codegen::forTiles(KernelBuilder &b, const ColumnRange &range, int64_t width,
                                 llvm::function_ref<void(Value, int64_t)> tile) {
  int64_t rest = range.length % width, full = range.length - rest;
  Value from = b.constant(0), to = b.constant(full);
  if (range.part && range.parts > 1) {
    from = b.mul(range.part, range.partLength);
    to = b.smaller(b.add(from, range.partLength), to);
  }
  if (full)
    b.loop(from, to, width, [&](Value column) { tile(column, width); });
  // Whole vector registers first, then one vector of odd width.
  auto tail = [&] {
    int64_t column = full;
    for (int64_t piece = width / 2; piece >= 16; piece /= 2)
      if (rest & piece) {
        tile(b.constant(column), piece);
        column += piece;
      }
    if (column < range.length)
      tile(b.constant(column), range.length - column);
  };
  if (rest && range.part && range.parts > 1)
    b.ifEqual(range.part, b.constant(range.parts - 1), tail);
  else if (rest)
    tail();
}

SmallVector<Value> RowReduction::reduce(int64_t length, Values values) {
  RowTree tree(length);
  SmallVector<Value> results;
  if (length <= shortRow) {
    for (auto [reduction, value] : llvm::zip(reductions, values(b.constant(0), length)))
      results.push_back(
          b.create<vector::ExtractOp>(b.combineEach(reduction.kind, {value}, length), 0));
    return results;
  }
  if (tree.chunks == 1)
    return reduceChunk(length, Value(), values);

  SmallVector<Value> partials;
  for (Reduction reduction : reductions)
    partials.push_back(b.stack(entry, reduction.type, tree.chunks));
  b.loop(b.constant(0), b.constant(tree.chunks), 1, [&](Value chunk) {
    SmallVector<Value> chunkResults = reduceChunk(length, chunk, values);
    for (auto [value, array] : llvm::zip(chunkResults, partials))
      b.store(value, b.element(array, value.getType(), chunk), value.getType(), 0);
  });
  for (auto [reduction, array] : llvm::zip(reductions, partials)) {
    RowReduction ofChunks(b, entry, width);
    ofChunks.add(reduction.kind, reduction.type);
    auto load = [&, &reduction = reduction, array = array](Value index, int64_t count) {
      return SmallVector<Value>{
          b.load(b.element(array, reduction.type, index), reduction.type, count)};
    };
    results.append(ofChunks.reduce(tree.chunks, load));
  }
  return results;
}

SmallVector<Value> RowReduction::reduceChunk(int64_t length, Value chunk, Values values) {
  RowTree tree(length);
  SmallVector<Value> accumulators;
  for (Reduction reduction : reductions)
    accumulators.push_back(b.stack(entry, reduction.type, tree.accumulators));
  int64_t vectorWidth = std::min(width, tree.accumulators);
  // A row that is no longer than its accumulators gives each one value, or the identity.
  bool folds = length > tree.accumulators;
  int64_t narrow = std::min<int64_t>(16, vectorWidth);
  int64_t firstMissing = folds ? 0 : llvm::alignTo(length, narrow);
  int64_t step = folds ? vectorWidth : narrow;
  b.loop(b.constant(firstMissing), b.constant(tree.accumulators), step, [&](Value i) {
    for (auto [reduction, array] : llvm::zip(reductions, accumulators))
      b.store(b.identity(reduction.kind, reduction.type, step), b.element(array, reduction.type, i),
              reduction.type, step);
  });
  forTiles(
      b, {length, tree.chunks, tree.chunk, chunk}, vectorWidth, [&](Value column, int64_t count) {
        SmallVector<Value> columnValues = values(column, count);
        Value i = folds ? b.remainder(column, tree.accumulators) : column;
        for (auto [reduction, array, value] : llvm::zip(reductions, accumulators, columnValues)) {
          Value address = b.element(array, reduction.type, i);
          if (folds) {
            Value sum = b.combine(reduction.kind, b.load(address, reduction.type, count), value);
            b.store(sum, address, reduction.type, count);
            continue;
          }
          // Stored in whole registers, as it will be read.
          int64_t stored = std::max(count, narrow);
          b.store(b.pad(reduction.kind, value, count, stored), address, reduction.type, stored);
        }
      });
  SmallVector<Value> results;
  for (auto [reduction, array] : llvm::zip(reductions, accumulators))
    results.push_back(combineAccumulators(reduction, array, tree.accumulators));
  return results;
}

Value RowReduction::combineAccumulators(Reduction reduction, Value accumulators, int64_t count) {
  auto [kind, type] = reduction;
  int64_t half = shortRow / 2;
  Value levels = b.constant(llvm::Log2_64(count / shortRow));
  if (count > shortRow)
    b.loop(b.constant(0), levels, 1, [&, kind = kind, type = type](Value level) {
      Value size = b.create<arith::ShRUIOp>(b.constant(count / 2), level);
      b.loop(b.constant(0), size, half, [&](Value i) {
        Value pairs = b.load(b.element(accumulators, type, b.mul(i, 2)), type, shortRow);
        SmallVector<int64_t> even, odd;
        for (int64_t lane = 0; lane < shortRow; lane += 2) {
          even.push_back(lane);
          odd.push_back(lane + 1);
        }
        Value sums = b.combine(kind, b.shuffle(pairs, pairs, even), b.shuffle(pairs, pairs, odd));
        b.store(sums, b.element(accumulators, type, i), type, half);
      });
    });
  int64_t rest = std::min(count, shortRow);
  Value results = b.combineEach(kind, {b.load(accumulators, type, rest)}, rest);
  return b.create<vector::ExtractOp>(results, 0);
}

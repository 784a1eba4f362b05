//===- CpuReduction.cpp - the tree of a row, on vectors ------------------------------------===//
//
// A chunk is folded a vector of accumulators at a time, which stays in registers meanwhile, and is
// gone through in strides for that: a chunk fits the second-level cache. The accumulators end up in
// an array on the stack; combining neighbours halves it in place until it fits into registers.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CpuReduction.h"
#include "ir/ReductionTree.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

/// The columns of a range that fill vectors of `width`.
static std::pair<Value, Value> wholeTiles(KernelBuilder &b, const ColumnRange &range,
                                          int64_t width) {
  Value from = b.constant(0), to = b.constant(range.length / width * width);
  if (range.part && range.parts > 1) {
    from = b.mul(range.part, range.partLength);
    to = b.smaller(b.add(from, range.partLength), to);
  }
  return {from, to};
}

/// The columns behind them at the row's end: whole vector registers first, then what is left.
static void forTail(KernelBuilder &b, const ColumnRange &range, int64_t width,
                    llvm::function_ref<void(Value, int64_t)> tile) {
  int64_t rest = range.length % width;
  if (!rest)
    return;
  auto emit = [&] {
    int64_t column = range.length - rest;
    for (int64_t piece = width / 2; piece >= 16; piece /= 2)
      if (rest & piece) {
        tile(b.constant(column), piece);
        column += piece;
      }
    if (column < range.length)
      tile(b.constant(column), range.length - column);
  };
  if (range.part && range.parts > 1)
    b.ifEqual(range.part, b.constant(range.parts - 1), emit);
  else
    emit();
}

void halfstep::codegen::forTiles(KernelBuilder &b, const ColumnRange &range, int64_t width,
                                 llvm::function_ref<void(Value, int64_t)> tile) {
  if (range.length >= width) {
    auto [from, to] = wholeTiles(b, range, width);
    b.loop(from, to, width, [&](Value column) { tile(column, width); });
  }
  forTail(b, range, width, tile);
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
  ColumnRange range{length, tree.chunks, tree.chunk, chunk};
  if (length > tree.accumulators)
    foldColumns(range, tree.accumulators, accumulators, values);
  else
    storeColumns(range, tree.accumulators, accumulators, values);
  SmallVector<Value> results;
  for (auto [reduction, array] : llvm::zip(reductions, accumulators))
    results.push_back(combineAccumulators(reduction, array, tree.accumulators));
  return results;
}

/// Neighbouring accumulators fold their values in registers; what is left over at the row's end is
/// combined with those in memory.
void RowReduction::foldColumns(const ColumnRange &range, int64_t count,
                               ArrayRef<Value> accumulators, Values values) {
  int64_t vectorWidth = std::min(width, count);
  auto [from, to] = wholeTiles(b, range, vectorWidth);
  b.loop(b.constant(0), b.constant(count), vectorWidth, [&, from = from, to = to](Value first) {
    SmallVector<Value> sums;
    for (Reduction reduction : reductions)
      sums.push_back(b.identity(reduction.kind, reduction.type, vectorWidth));
    sums = b.fold(b.add(from, first), to, count, sums, [&](Value column, SmallVector<Value> sums) {
      SmallVector<Value> columnValues = values(column, vectorWidth);
      for (auto [reduction, sum, value] : llvm::zip(reductions, sums, columnValues))
        sum = b.combine(reduction.kind, sum, value);
      return sums;
    });
    for (auto [reduction, array, sum] : llvm::zip(reductions, accumulators, sums))
      b.store(sum, b.element(array, reduction.type, first), reduction.type, vectorWidth);
  });
  forTail(b, range, vectorWidth, [&](Value column, int64_t tail) {
    SmallVector<Value> columnValues = values(column, tail);
    for (auto [reduction, array, value] : llvm::zip(reductions, accumulators, columnValues)) {
      Value address = b.element(array, reduction.type, b.remainder(column, count));
      Value sum = b.load(address, reduction.type, tail);
      b.store(b.combine(reduction.kind, sum, value), address, reduction.type, tail);
    }
  });
}

/// Each accumulator has one value, or none: the identity. They are stored in whole registers, as
/// they will be read.
void RowReduction::storeColumns(const ColumnRange &range, int64_t count,
                                ArrayRef<Value> accumulators, Values values) {
  int64_t vectorWidth = std::min(width, count), step = std::min<int64_t>(16, vectorWidth);
  forTiles(b, range, vectorWidth, [&](Value column, int64_t tile) {
    SmallVector<Value> columnValues = values(column, tile);
    int64_t stored = std::max(tile, step);
    for (auto [reduction, array, value] : llvm::zip(reductions, accumulators, columnValues))
      b.store(b.pad(reduction.kind, value, tile, stored), b.element(array, reduction.type, column),
              reduction.type, stored);
  });
  int64_t missing = llvm::alignTo(range.length, step);
  b.loop(b.constant(missing), b.constant(count), step, [&](Value first) {
    for (auto [reduction, array] : llvm::zip(reductions, accumulators))
      b.store(b.identity(reduction.kind, reduction.type, step),
              b.element(array, reduction.type, first), reduction.type, step);
  });
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

//===- EmitCudaRows.cpp - groups with reductions over the last dimension -------------------===//
//
// A row belongs to as many neighbouring threads as its tree has blocks of eight accumulators; a
// block of threads has one long row, or several that have a warp or a part of one each. A thread
// folds its eight accumulators in registers, neighbours are combined within the thread, then the
// warp by exchange, then the warps of the row through shared memory: always lowest index bit first,
// which is the tree's order.
//
// A row of one chunk is loaded once and stays in registers for all walks over it. Of a longer row,
// chunk after chunk is walked; the chunks' results meet in shared memory.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaGroupEmitter.h"
#include "ir/ReductionTree.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

/// Columns, and accumulators, of a thread.
static constexpr int64_t threadColumns = 8;

/// Threads that work on a row together: a power of two; a block of them if they are several warps.
static int64_t rowThreads(const KernelForm &form) {
  return std::max<int64_t>(1, RowTree(form.columns).accumulators / threadColumns);
}

namespace {
/// What the threads of a row do together.
class RowEmitter {
public:
  struct Reduction {
    ReduceKind kind;
    Type type;
  };

  RowEmitter(CudaBuilder &b, int64_t threads, Type indexType)
      : b(b), threads(threads), lane(b.toIndex(b.remainder(b.thread(), threads), indexType)) {
    Type i32 = b.getI32Type();
    if (threads >= warpLanes) {
      members = b.constant(i32, -1);
      return;
    }
    Value first = b.mul(b.divide(b.remainder(b.thread(), warpLanes), threads), threads);
    members = b.create<arith::ShLIOp>(b.constant(i32, (int64_t(1) << threads) - 1), first);
  }

  /// Accumulators that hold nothing yet.
  SmallVector<Value> identities(ArrayRef<Reduction> reductions) {
    return llvm::map_to_vector(reductions, [&](Reduction reduction) {
      return b.identity(reduction.kind, reduction.type, threadColumns);
    });
  }
  /// Orders what the threads did before and do after.
  void wait() {
    if (threads > warpLanes)
      b.barrier();
    else if (threads > 1)
      b.create<NVVM::SyncWarpOp>(members);
  }
  /// Combines the accumulators of all threads; every thread gets the results.
  SmallVector<Value> combine(ArrayRef<Reduction> reductions, ArrayRef<Value> accumulators);
  /// The tree over `length` values in shared memory, an array a reduction.
  SmallVector<Value> reduceShared(ArrayRef<Reduction> reductions, ArrayRef<Value> arrays,
                                  int64_t length);

  CudaBuilder &b;
  const int64_t threads;
  const Value lane; ///< the thread's number among those of the row

private:
  Value members; // of the row among the warp's lanes
  Value combineNeighbours(ReduceKind kind, Value vector, int64_t count) {
    return b.create<vector::ExtractOp>(b.combineEach(kind, {vector}, count), 0);
  }
};
} // namespace

SmallVector<Value> RowEmitter::combine(ArrayRef<Reduction> reductions,
                                       ArrayRef<Value> accumulators) {
  SmallVector<Value> results, shared;
  int64_t warps = threads / warpLanes;
  for (auto [reduction, accumulator] : llvm::zip(reductions, accumulators)) {
    Value value = combineNeighbours(reduction.kind, accumulator, threadColumns);
    for (int64_t mask = 1; mask < std::min(threads, warpLanes); mask *= 2)
      value = b.combine(reduction.kind, value, b.exchange(members, value, mask));
    results.push_back(value);
  }
  if (warps <= 1 || reductions.empty())
    return results;
  Value warp = b.divide(b.thread(), warpLanes);
  Value isFirst = b.isBelow(b.remainder(b.thread(), warpLanes), 1);
  for (auto [reduction, result] : llvm::zip(reductions, results)) {
    Type type = reduction.type;
    shared.push_back(b.shared(type, warps));
    b.when(isFirst,
           [&, &value = result] { b.store(value, b.element(shared.back(), type, warp), type, 0); });
  }
  b.barrier();
  for (auto [reduction, result, array] : llvm::zip(reductions, results, shared)) {
    Type type = reduction.type;
    Value ofWarps = b.load(array, type, warps, alignmentFor(type, warps, {}));
    result = combineNeighbours(reduction.kind, ofWarps, warps);
  }
  return results;
}

SmallVector<Value> RowEmitter::reduceShared(ArrayRef<Reduction> reductions, ArrayRef<Value> arrays,
                                            int64_t length) {
  RowTree tree(length);
  SmallVector<Value> accumulators = identities(reductions);
  for (int64_t begin = 0; begin < length; begin += tree.accumulators)
    for (auto [reduction, array, accumulator] : llvm::zip(reductions, arrays, accumulators)) {
      Value missing = b.identity(reduction.kind, reduction.type, 0), values;
      for (int64_t i = 0; i < threadColumns; ++i) {
        // Threads beyond the tree's accumulators hold none.
        Value number = b.add(b.mul(lane, threadColumns), i), at = b.add(number, begin);
        Value exists = b.both(b.isBelow(number, tree.accumulators), b.isBelow(at, length));
        Value safe = b.create<arith::SelectOp>(exists, at, b.constant(at.getType(), 0));
        Value value = b.create<arith::SelectOp>(
            exists, b.load(b.element(array, reduction.type, safe), reduction.type, 0), missing);
        values = values ? b.create<vector::InsertOp>(value, values, i).getResult()
                        : b.splat(value, threadColumns);
      }
      accumulator = b.combine(reduction.kind, accumulator, values);
    }
  return combine(reductions, accumulators);
}

void CudaGroupEmitter::emitRows() {
  GroupOp group = form.group;
  RowTree tree(form.columns);
  bool isPartial = group.getPartial(), isLooped = tree.chunks > 1 && !isPartial;
  int64_t threads = rowThreads(form);
  int64_t blockRows = threads > warpLanes ? 1 : blockThreads / threads;
  int64_t units = form.rows * (isPartial ? tree.chunks : 1);
  grid = {int64_t(llvm::divideCeil(units, blockRows)), blockRows * threads};
  int64_t step = threads * threadColumns;
  RowEmitter team(b, threads, indexType);
  Value unit = b.add(b.mul(b.toIndex(b.block(), indexType), blockRows),
                     b.toIndex(b.divide(b.thread(), threads), indexType));
  // The members of a row's exchanges are all here or all not.
  std::optional<OpBuilder::InsertionGuard> guardOfUnit;
  if (units % blockRows) {
    guardOfUnit.emplace(b);
    auto isThere = b.create<scf::IfOp>(b.isBelow(unit, units), /*withElseRegion=*/false);
    b.setInsertionPointToStart(isThere.thenBlock());
  }
  uniform = computeUniformValues(b, form, buffers);
  int64_t chunksOfUnit = isPartial ? tree.chunks : 1;
  Value chunk = isPartial ? b.remainder(unit, chunksOfUnit) : Value();
  Row row(b, form, buffers, uniform, b.divide(unit, chunksOfUnit));

  // The tiles of this thread in a chunk.
  struct Strip {
    std::vector<Tile> tiles;
    SmallVector<Value> columns;
    SmallVector<Guard> guards;
  };
  auto stripOf = [&](Value chunk) {
    Strip strip;
    int64_t length = std::min(tree.chunk, form.columns);
    Value first = b.mul(team.lane, threadColumns);
    if (chunk)
      first = b.add(b.mul(chunk, tree.chunk), first);
    bool isWhole = chunk ? form.columns % tree.chunk == 0 : true;
    for (int64_t begin = 0; begin < length; begin += step) {
      Value column = b.add(first, begin);
      bool isInside = isWhole && begin + step <= length;
      strip.columns.push_back(column);
      strip.guards.push_back(guardOf(column, threadColumns, form.columns, isInside));
      strip.tiles.push_back(tileAt(row, column, threadColumns, strip.guards.back()));
    }
    return strip;
  };
  auto accumulate = [&](Strip &strip, ArrayRef<ReduceOp> reduces,
                        ArrayRef<RowEmitter::Reduction> reductions) {
    SmallVector<Value> accumulators = team.identities(reductions);
    for (auto [tile, guard] : llvm::zip(strip.tiles, strip.guards))
      for (auto [reduce, accumulator] : llvm::zip(reduces, accumulators)) {
        ReduceOp op = reduce;
        Value value = tile.get(b, op.getInput());
        Value missing = b.identity(op.getKind(), op.getType(), threadColumns);
        if (guard.whole)
          value = b.create<arith::SelectOp>(guard.whole, value, missing);
        for (auto [i, isThere] : llvm::enumerate(guard.each)) {
          Value one = b.create<vector::ExtractOp>(value, i),
                none = b.create<vector::ExtractOp>(missing, i);
          value = b.create<vector::InsertOp>(b.create<arith::SelectOp>(isThere, one, none), value,
                                             int64_t(i));
        }
        accumulator = b.combine(op.getKind(), accumulator, value);
      }
    return accumulators;
  };
  auto store = [&](Strip &strip, unsigned walk) {
    for (auto [tile, column, guard] : llvm::zip(strip.tiles, strip.columns, strip.guards)) {
      storeTile(tile, row, column, threadColumns, guard, form.elementStores(walk));
    }
  };

  std::optional<Strip> kept;
  if (!isLooped)
    kept.emplace(stripOf(chunk));
  for (unsigned walk = 0; walk < form.values.walks(); ++walk) {
    row.computeValues(b, walk);
    SmallVector<ReduceOp> reduces = form.reductions(walk);
    SmallVector<RowEmitter::Reduction> reductions;
    for (ReduceOp reduce : reduces)
      reductions.push_back({reduce.getKind(), reduce.getType()});
    SmallVector<Value> results;
    if (kept) {
      SmallVector<Value> accumulators = accumulate(*kept, reduces, reductions);
      results = team.combine(reductions, accumulators);
      store(*kept, walk);
    } else {
      SmallVector<Value> ofChunks;
      for (RowEmitter::Reduction reduction : reductions)
        ofChunks.push_back(b.shared(reduction.type, tree.chunks));
      b.loop(position(0), position(tree.chunks), 1, [&](Value chunk) {
        Strip strip = stripOf(chunk);
        SmallVector<Value> accumulators = accumulate(strip, reduces, reductions);
        SmallVector<Value> sums = team.combine(reductions, accumulators);
        store(strip, walk);
        if (reductions.empty())
          return;
        b.when(b.isBelow(team.lane, 1), [&] {
          for (auto [reduction, array, sum] : llvm::zip(reductions, ofChunks, sums))
            b.store(sum, b.element(array, reduction.type, chunk), reduction.type, 0);
        });
        b.barrier(); // the warps' results are read before the next ones are written
      });
      if (!reductions.empty())
        results = team.reduceShared(reductions, ofChunks, tree.chunks);
    }
    for (auto [reduce, result] : llvm::zip(reduces, results))
      row.values[reduce.getResult()] = result;
  }
  row.computeValues(b, form.values.walks());
  SmallVector<KernelForm::Store> rowStores = form.rowStores();
  unsigned arguments = group.getBlock().getNumArguments();
  if (llvm::any_of(rowStores, [&](auto store) { return store.buffer < arguments; }))
    team.wait(); // everybody has read what is updated in place
  b.when(b.isBelow(team.lane, 1), [&] {
    for (KernelForm::Store store : rowStores) {
      const View &view = form.buffers[store.buffer];
      Value pointer = row.pointers[store.buffer];
      if (chunk)
        pointer = b.element(pointer, view.storage, b.mul(chunk, view.inner));
      b.store(row.values.lookup(store.value), pointer, view.storage, 0);
    }
  });
}

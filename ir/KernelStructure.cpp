//===- KernelStructure.cpp - questions about a group, and cutting its reductions ------------===//
//
// Where a value can be computed follows from two things: the dimensions it varies along (those of
// the buffers and indices it is made from, less the reduced ones) and the number of reductions
// that have to be finished before it.
//
//===---------------------------------------------------------------------------------------===//

#include "ir/KernelDialect.h"
#include "ir/ReductionTree.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace halfstep::kernel;

ValueAnalysis::ValueAnalysis(GroupOp group) {
  ArrayRef<int64_t> space = group.getSpace();
  auto bit = [&](int64_t d) { return space[d] > 1 ? uint64_t(1) << d : 0; };
  for (BlockArgument argument : group.getBlock().getArguments()) {
    Info &loaded = info[argument];
    for (auto [d, stride] : llvm::enumerate(group.getBufferStrides(argument.getArgNumber())))
      if (stride)
        loaded.dimensions |= bit(d);
  }
  for (Operation &op : group.getBlock().without_terminator()) {
    Info result;
    for (Value operand : op.getOperands()) {
      Info from = info.lookup(operand);
      result.dimensions |= from.dimensions;
      result.phase = std::max(result.phase, from.phase);
    }
    if (auto index = dyn_cast<IndexOp>(op))
      for (auto [d, stride] : llvm::enumerate(index.getStrides()))
        if (stride)
          result.dimensions |= bit(d);
    if (isa<ReduceOp>(op)) {
      result.dimensions &= ~bit(group.getReducedDimension());
      ++result.phase;
    }
    info[op.getResult(0)] = result;
  }
  int64_t last = int64_t(space.size()) - 1;
  for (auto reduce : group.getBlock().getOps<ReduceOp>())
    walkCount = std::max(walkCount, phase(reduce.getResult()));
  for (auto [value, out] : llvm::zip(group.getYield().getValues(), group.getOuts())) {
    bool byChunk = group.getPartial() && phase(value) > 0;
    if (bit(last) && group.getBufferStrides(out)[last] && !byChunk)
      walkCount = std::max(walkCount, phase(value) + 1);
  }
  for (auto [value, out] : llvm::zip(group.getYield().getValues(), group.getOuts())) {
    bool inPlace = out < int64_t(group.getBlock().getNumArguments());
    storeWalks.push_back(inPlace ? walkCount - 1 : phase(value));
  }
  // A value that varies along the last dimension is computed again in each walk that needs it.
  auto need = [&](Value value, unsigned walk) {
    info[value].lastWalk = std::max(info[value].lastWalk, walk);
  };
  for (auto [value, walk] : llvm::zip(group.getYield().getValues(), storeWalks))
    need(value, walk);
  for (Operation &op : llvm::reverse(group.getBlock().without_terminator())) {
    Value result = op.getResult(0);
    bool again = !isa<ReduceOp>(op) && varies(result, last);
    for (Value operand : op.getOperands())
      need(operand, again ? lastWalk(result) : isa<ReduceOp>(op) ? phase(operand) : phase(result));
  }
}

bool halfstep::kernel::canShare(GroupOp group, unsigned argument, unsigned result) {
  int64_t out = group.getOuts()[result];
  if (out < group.getBlock().getNumArguments() ||
      llvm::is_contained(group.getOuts(), int64_t(argument)))
    return false; // one of the two is in place already
  // A buffer has one type: as many bytes are not enough, a bf16 would be stored as an f16.
  if (group.getStorageType(argument) != group.getStorageType(out) ||
      group.getBufferOffset(argument) != group.getBufferOffset(out))
    return false;
  ArrayRef<int64_t> space = group.getSpace(), read = group.getBufferStrides(argument),
                    written = group.getBufferStrides(out);
  // One value a row is stored when all else is done with the row, whatever reads the old one there.
  int64_t last = int64_t(space.size()) - 1;
  bool isOfRow = !group.getPartial() && group.getReducedDimension() == last && read[last] == 0 &&
                 written[last] == 0;
  for (int64_t d = 0; d < (isOfRow ? last : last + 1); ++d)
    if (space[d] > 1 && (read[d] == 0 || read[d] != written[d]))
      return false;
  if (isOfRow)
    return true;
  // Each point reads the argument before it writes the result; what is left is later walks.
  ValueAnalysis analysis(group);
  bool byChunk = group.getPartial() && analysis.phase(group.getYield().getOperand(result)) > 0;
  return !byChunk &&
         analysis.lastWalk(group.getBlock().getArgument(argument)) <= analysis.storeWalk(result);
}

//===---------------------------------------------------------------------------------------===//
// splitReduction
//===---------------------------------------------------------------------------------------===//

/// The number of chunks of the group's reductions if they are to be cut there, else 1.
static int64_t chunksToSplit(GroupOp group, const ValueAnalysis &analysis) {
  int64_t reduced = group.getReducedDimension();
  if (reduced < 0 || group.getPartial())
    return 1;
  ArrayRef<int64_t> space = group.getSpace();
  if (reduced + 1 < int64_t(space.size()))
    return ColumnTree(space[reduced]).chunks;
  // A unit of work is a row. With as many rows as this there is one for every thread; and behind a
  // reduction a walk over the row has to wait for the whole of it.
  constexpr int64_t enoughRows = 64;
  int64_t rows = 1;
  for (int64_t size : space.drop_back())
    rows *= size;
  bool oneWalk = true;
  for (Operation &op : group.getBlock().without_terminator()) {
    Value value = op.getResult(0);
    if (analysis.phase(value) > 0)
      oneWalk &= !analysis.varies(value, reduced) && analysis.phase(value) == 1;
  }
  for (auto [value, out] : llvm::zip(group.getYield().getValues(), group.getOuts()))
    if (analysis.phase(value) > 0)
      oneWalk &= group.getBufferStrides(out)[reduced] == 0;
  return rows < enoughRows && oneWalk ? RowTree(space[reduced]).chunks : 1;
}

namespace {
/// Builds one part of a split: a group over `space` whose body is cloned from the original.
struct PartBuilder {
  GroupOp original;
  std::string name;
  SmallVector<int64_t> space;
  SmallVector<Buffer> arguments;
  SmallVector<GroupOp::Result> results;

  Buffer buffer(unsigned i) {
    return {original.getStorageType(i), llvm::to_vector(original.getBufferStrides(i)),
            original.getBufferOffset(i)};
  }
  /// Adds result `number` of the original; `kept` are the original's arguments that the part has,
  /// behind `before` arguments of its own.
  void addResult(unsigned number, ArrayRef<unsigned> kept, unsigned before) {
    int64_t out = original.getOuts()[number];
    if (out >= original.getBlock().getNumArguments())
      results.push_back(buffer(out));
    else
      results.push_back(unsigned(before + (llvm::find(kept, unsigned(out)) - kept.begin())));
  }
};
} // namespace

std::optional<SplitReduction> halfstep::kernel::splitReduction(GroupOp group) {
  ValueAnalysis analysis(group);
  int64_t chunks = chunksToSplit(group, analysis), reduced = group.getReducedDimension();
  if (chunks == 1)
    return std::nullopt;
  Block &block = group.getBlock();
  ValueRange yielded = group.getYield().getValues();
  SmallVector<ReduceOp> reduces(block.getOps<ReduceOp>());
  SplitReduction split;
  split.partialValues = reduces.size();

  // What each part computes, and from which arguments.
  llvm::SmallDenseSet<Value> partialNeeds, finalNeeds;
  for (auto [i, value] : llvm::enumerate(yielded)) {
    // A value that waits for nothing is stored where the whole dimension is walked, unless it has
    // one element for all of it.
    bool isFinal =
        analysis.phase(value) > 0 || group.getBufferStrides(group.getOuts()[i])[reduced] == 0;
    (isFinal ? split.finalResults : split.partialResults).push_back(i);
    (isFinal ? finalNeeds : partialNeeds).insert(value);
  }
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (isa<ReduceOp>(op)) {
      partialNeeds.insert(op.getOperand(0));
      continue;
    }
    for (auto *needs : {&partialNeeds, &finalNeeds})
      if (needs->contains(op.getResult(0)))
        needs->insert(op.operand_begin(), op.operand_end());
  }
  auto isUpdated = [&](BlockArgument argument, ArrayRef<unsigned> results) {
    return llvm::any_of(results, [&](unsigned i) {
      return group.getOuts()[i] == int64_t(argument.getArgNumber());
    });
  };
  for (BlockArgument argument : block.getArguments()) {
    if (partialNeeds.contains(argument) || isUpdated(argument, split.partialResults))
      split.partialArguments.push_back(argument.getArgNumber());
    if (finalNeeds.contains(argument) || isUpdated(argument, split.finalResults))
      split.finalArguments.push_back(argument.getArgNumber());
  }

  // The partial values: like the space, but with a chunk for each `chunk` values.
  PartBuilder partial{
      group, (group.getSymName() + "_partial").str(), llvm::to_vector(group.getSpace()), {}, {}};
  PartBuilder final{group, group.getSymName().str(), llvm::to_vector(group.getSpace()), {}, {}};
  final.space[reduced] = chunks;
  SmallVector<int64_t> packed(final.space.size());
  int64_t stride = 1;
  for (size_t d = packed.size(); d-- > 0; stride *= final.space[d])
    packed[d] = stride;
  for (ReduceOp reduce : reduces) {
    partial.results.push_back(Buffer{reduce.getType(), packed});
    final.arguments.push_back(Buffer{reduce.getType(), packed});
  }
  for (unsigned i : split.partialArguments)
    partial.arguments.push_back(partial.buffer(i));
  for (unsigned i : split.finalArguments)
    final.arguments.push_back(final.buffer(i));
  for (unsigned i : split.partialResults)
    partial.addResult(i, split.partialArguments, 0);
  for (unsigned i : split.finalResults)
    final.addResult(i, split.finalArguments, split.partialValues);

  auto cloneNeeded = [&](OpBuilder &b, IRMapping &map, const llvm::SmallDenseSet<Value> &needs) {
    for (Operation &op : block.without_terminator())
      if (!map.contains(op.getResult(0)) && needs.contains(op.getResult(0)))
        b.clone(op, map);
  };
  OpBuilder builder(group);
  split.partial =
      GroupOp::create(builder, group.getLoc(), partial.name, partial.space, partial.arguments,
                      partial.results, [&](OpBuilder &b, Location, ValueRange arguments) {
                        IRMapping map;
                        for (auto [i, argument] : llvm::zip(split.partialArguments, arguments))
                          map.map(block.getArgument(i), argument);
                        cloneNeeded(b, map, partialNeeds);
                        SmallVector<Value> values;
                        for (ReduceOp reduce : reduces)
                          values.push_back(b.clone(*reduce, map)->getResult(0));
                        for (unsigned i : split.partialResults)
                          values.push_back(map.lookup(yielded[i]));
                        return values;
                      });
  split.partial.setPartial(true);
  split.final = GroupOp::create(
      builder, group.getLoc(), final.name, final.space, final.arguments, final.results,
      [&](OpBuilder &b, Location, ValueRange arguments) {
        IRMapping map;
        for (auto [reduce, argument] : llvm::zip(reduces, arguments))
          map.map(reduce.getResult(), b.create<ReduceOp>(reduce.getLoc(), reduce.getType(), reduce.getKind(),
                                                         argument, reduce.getOver())
                                          .getResult());
        for (auto [i, argument] :
             llvm::zip(split.finalArguments, arguments.drop_front(split.partialValues)))
          map.map(block.getArgument(i), argument);
        cloneNeeded(b, map, finalNeeds);
        SmallVector<Value> values;
        for (unsigned i : split.finalResults)
          values.push_back(map.lookup(yielded[i]));
        return values;
      });
  group.erase();
  return split;
}

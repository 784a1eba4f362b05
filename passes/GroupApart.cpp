//===- GroupApart.cpp - What a group computes at positions, and the rest --===//
//
// As kernel::splitReduction cuts a group, but along a convolution's axes: what is at positions has
// reductions over the positions of one image, whatever the group's are over.
//
//===----------------------------------------------------------------------===//

#include "passes/GroupApart.h"
#include "ir/ReductionTree.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace halfstep;
using kernel::Buffer;
using kernel::GroupOp;
using kernel::ReduceOp;

namespace {
class TakingApart {
public:
  TakingApart(GroupOp group, unsigned output, std::optional<unsigned> dy,
              const ConvolutionWalk &walk)
      : group(group), output(output), dy(dy), walk(walk), block(group.getBlock()),
        yielded(group.getYield().getValues()), reduces(block.getOps<ReduceOp>()),
        chunks(kernel::ColumnTree(walk.sizes[kPosition]).chunks) {}

  GroupApart run(SymbolTable &kernels) {
    for (auto [i, value] : llvm::enumerate(yielded)) {
      auto *reduce = llvm::find(reduces, value.getDefiningOp());
      if (dy == i)
        positionNeeds.insert(value);
      else if (reduce != reduces.end() && isFinished(block.getNumArguments() + i))
        apart.finished.push_back({i, reduce - reduces.begin()});
      else
        apart.sumResults.push_back(i);
    }
    for (unsigned i : apart.sumResults)
      sumNeeds.insert(yielded[i]);
    findNeeds();
    OpBuilder builder(group);
    apart.positions = createPositions(builder);
    kernels.insert(apart.positions);
    if (apart.sumResults.empty())
      return apart;
    apart.sums = createSums(builder);
    kernels.insert(apart.sums);
    return apart;
  }

private:
  using Needs = llvm::SmallDenseSet<Value>;

  /// Values of a reduction for each that it has in the end; for each channel, or all of them.
  int64_t rowsOfSums() const {
    int64_t rows = chunks * (walk.isReduced[kImage] ? walk.sizes[kImage] : 1);
    return walk.isReduced[kChannel] ? rows * walk.sizes[kChannel] : rows;
  }

  /// Whether a buffer holds a reduction's values as they come from the positions.
  bool isFinished(unsigned buffer) const {
    int64_t channels = walk.sizes[kChannel], image = walk.sizes[kImage] > 1 ? channels : 0;
    return rowsOfSums() == 1 && group.getStorageType(buffer).isF32() &&
           group.getBufferOffset(buffer) == 0 &&
           walk.buffers[buffer] == ConvolutionWalk::ByAxis{image, 0, 1};
  }

  void findNeeds() {
    for (Operation &op : llvm::reverse(block.without_terminator())) {
      if (isa<ReduceOp>(op)) {
        positionNeeds.insert(op.getOperand(0));
        continue;
      }
      for (Needs *needs : {&positionNeeds, &sumNeeds})
        if (needs->contains(op.getResult(0)))
          needs->insert(op.operand_begin(), op.operand_end());
    }
    apart.positionArguments.push_back(output);
    for (BlockArgument argument : block.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (positionNeeds.contains(argument) && i != output)
        apart.positionArguments.push_back(i);
      if (sumNeeds.contains(argument))
        apart.sumArguments.push_back(i);
    }
  }

  /// A buffer of the original.
  Buffer buffer(unsigned i, SmallVector<int64_t> strides) {
    return {group.getStorageType(i), std::move(strides), group.getBufferOffset(i)};
  }

  void clone(OpBuilder &b, IRMapping &map, const Needs &needs,
             llvm::function_ref<SmallVector<int64_t>(const ConvolutionWalk::ByAxis &)> strides) {
    for (Operation &op : block.without_terminator()) {
      if (map.contains(op.getResult(0)) || !needs.contains(op.getResult(0)))
        continue;
      if (auto index = dyn_cast<kernel::IndexOp>(op))
        map.map(index.getResult(),
                b.create<kernel::IndexOp>(op.getLoc(), index.getType(),
                                          strides(walk.indices.find(&op)->second))
                    .getResult());
      else
        b.clone(op, map);
    }
  }

  GroupOp createPositions(OpBuilder &builder) {
    auto strides = [](const ConvolutionWalk::ByAxis &all) { return llvm::to_vector(all); };
    SmallVector<Buffer> arguments;
    for (unsigned i : apart.positionArguments)
      arguments.push_back(buffer(i, strides(walk.buffers[i])));
    SmallVector<GroupOp::Result> results;
    int64_t channels = walk.sizes[kChannel];
    for (ReduceOp reduce : reduces) {
      results.push_back(
          Buffer{reduce.getType(), {chunks * channels, chunks > 1 ? channels : 0, 1}});
      apart.valueTypes.push_back(
          RankedTensorType::get({walk.sizes[kImage], chunks, channels}, reduce.getType()));
    }
    if (dy) {
      unsigned number = block.getNumArguments() + *dy;
      results.push_back(buffer(number, strides(walk.buffers[number])));
    }
    auto body = [&](OpBuilder &b, Location, ValueRange elements) {
      IRMapping map;
      for (auto [i, element] : llvm::zip(apart.positionArguments, elements))
        map.map(block.getArgument(i), element);
      clone(b, map, positionNeeds, strides);
      SmallVector<Value> values;
      for (ReduceOp reduce : reduces)
        values.push_back(b.create<ReduceOp>(reduce.getLoc(), reduce.getType(), reduce.getKind(),
                                            map.lookup(reduce.getInput()),
                                            kernel::ReduceOver::Rows));
      if (dy)
        values.push_back(map.lookup(yielded[*dy]));
      return values;
    };
    auto positions =
        GroupOp::create(builder, group.getLoc(), (group.getSymName() + "_positions").str(),
                        walk.sizes, arguments, results, body);
    positions.setPartial(chunks > 1);
    return positions;
  }

  /// Over [images, rows, channels], or [images, rows] where channels are reduced too; one image
  /// where images are.
  GroupOp createSums(OpBuilder &builder) {
    bool hasChannels = !walk.isReduced[kChannel];
    int64_t rows = rowsOfSums(), channels = hasChannels ? walk.sizes[kChannel] : 1;
    SmallVector<int64_t> space{walk.isReduced[kImage] ? 1 : walk.sizes[kImage], rows};
    SmallVector<int64_t> packed{rows * channels, channels};
    if (hasChannels) {
      space.push_back(channels);
      packed.push_back(1);
    }
    auto strides = [&](const ConvolutionWalk::ByAxis &all) {
      SmallVector<int64_t> kept{walk.isReduced[kImage] ? 0 : all[kImage], 0};
      if (hasChannels)
        kept.push_back(all[kChannel]);
      return kept;
    };
    SmallVector<Buffer> arguments;
    for (ReduceOp reduce : reduces)
      arguments.push_back(Buffer{reduce.getType(), packed});
    for (unsigned i : apart.sumArguments)
      arguments.push_back(buffer(i, strides(walk.buffers[i])));
    SmallVector<GroupOp::Result> results;
    for (unsigned i : apart.sumResults) {
      unsigned number = block.getNumArguments() + i;
      results.push_back(buffer(number, strides(walk.buffers[number])));
    }
    auto body = [&](OpBuilder &b, Location, ValueRange elements) {
      IRMapping map;
      for (auto [reduce, value] : llvm::zip(reduces, elements))
        map.map(
            reduce.getResult(),
            b.create<ReduceOp>(reduce.getLoc(), reduce.getType(), reduce.getKind(), value,
                               hasChannels ? kernel::ReduceOver::Rows : kernel::ReduceOver::Last)
                .getResult());
      for (auto [i, element] : llvm::zip(apart.sumArguments, elements.drop_front(reduces.size())))
        map.map(block.getArgument(i), element);
      clone(b, map, sumNeeds, strides);
      return llvm::map_to_vector(apart.sumResults,
                                 [&](unsigned i) { return map.lookup(yielded[i]); });
    };
    return GroupOp::create(builder, group.getLoc(), (group.getSymName() + "_sums").str(), space,
                           arguments, results, body);
  }

  mutable GroupOp group;
  const unsigned output;
  const std::optional<unsigned> dy;
  const ConvolutionWalk &walk;
  Block &block;
  ValueRange yielded;
  SmallVector<ReduceOp> reduces;
  const int64_t chunks;
  Needs positionNeeds, sumNeeds;
  GroupApart apart;
};
} // namespace

GroupApart halfstep::takeApart(GroupOp group, unsigned output, std::optional<unsigned> dy,
                               const ConvolutionWalk &walk, SymbolTable &kernels) {
  return TakingApart(group, output, dy, walk).run(kernels);
}

//===- AssignLayout.cpp - Where the channels of a value lie ---------------===//
//
// Programs come with channels in second place, [batch, channels, sizes...]. Convolutions, poolings
// and what connects them are often faster where channels are the last dimension, but a value that
// is read in both layouts is copied. So values are taken together:
//
//   - what a convolution or pooling reads and writes, and what elementwise ops make of it, is one
//     region; casts, activations and gradients are in it, a reshape or a product ends it;
//   - a region has one layout: the one whose ops cost less, transpositions on the region's border
//     included (passes/LayoutCost.h has measured rates);
//   - in a region with channels last every op is written anew on transposed values. Parameters and
//     what programs take and return stay as they are.
//
//     %y = train.conv %x, %w
//     %r = train.relu %y
//     return %r
// =>
//     %0 = train.transpose %x {permutation = [0, 2, 3, 1]}     // and one of %w
//     %1 = train.conv %0, %2 {channelsLast}
//     %3 = train.relu %1
//     %r = train.transpose %3 {permutation = [0, 3, 1, 2]}
//     return %r
//
// Regions and a choice by cost are those of layout assignment in XLA, simplified: there are two
// layouts, and no region is cut in two.
//
//===----------------------------------------------------------------------===//

#include "passes/Access.h"
#include "passes/LayoutCost.h"
#include "passes/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace halfstep {
#define GEN_PASS_DEF_ASSIGNLAYOUTPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The values that an op whose windows slide reads and writes, filters aside; none for other ops
/// and where channels come last already.
SmallVector<Value> windowedValues(Operation *op) {
  using Values = SmallVector<Value>;
  auto unlessAssigned = [](auto window, Values values) {
    return window.getChannelsLast() ? Values() : values;
  };
  return TypeSwitch<Operation *, Values>(op)
      .Case([&](ConvOp conv) { return unlessAssigned(conv, {conv.getX(), conv.getY()}); })
      .Case([&](ConvInputGradientOp conv) {
        return unlessAssigned(conv, {conv.getDy(), conv.getY()});
      })
      .Case([&](ConvWeightGradientOp conv) {
        return unlessAssigned(conv, {conv.getDy(), conv.getX()});
      })
      .Case<MaxPoolOp, MaxPoolGradientOp, AveragePoolOp, AveragePoolGradientOp>([&](auto pool) {
        Values values(pool->getOperands());
        values.push_back(pool.getY());
        return unlessAssigned(pool, values);
      })
      .Default(Values());
}

/// The values of an op that have to be in one layout; none where the op has its own.
SmallVector<Value> connectedValues(Operation *op) {
  SmallVector<Value> values = windowedValues(op);
  if (!values.empty())
    return values;
  if (isa<ReductionOpInterface>(op))
    values.push_back(op->getOperand(0));
  if (isa<ScalarOpInterface, MapOp, BroadcastOp>(op)) {
    llvm::append_range(values, op->getResults());
    for (Value operand : op->getOperands())
      if (typeOf(operand).getShape() == typeOf(op->getResult(0)).getShape())
        values.push_back(operand);
  }
  bool hasChannels = llvm::all_of(values, [](Value v) { return typeOf(v).getRank() > 2; });
  return hasChannels ? values : SmallVector<Value>();
}

struct Region {
  SmallVector<Operation *> ops;
  SetVector<Value> values;
  LayoutCost cost;
  bool hasWindows = false;

  /// What it costs to bring values in and out of the other layout.
  double borderCost(Executor executor) const {
    SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
    double cost = 0;
    for (Value value : values) {
      bool isMade = inside.contains(value.getDefiningOp());
      bool isReadOutside =
          llvm::any_of(value.getUsers(), [&](Operation *user) { return !inside.contains(user); });
      if (!isUniformConstant(value) && (!isMade || isReadOutside))
        cost += transpositionCost(typeOf(value), executor);
    }
    return cost;
  }
};

/// The regions of a function in which windows slide.
SmallVector<Region> findRegions(func::FuncOp function, Executor executor) {
  llvm::EquivalenceClasses<void *> classes;
  function.walk([&](Operation *op) {
    SmallVector<Value> values = connectedValues(op);
    for (Value value : values)
      classes.unionSets(values.front().getAsOpaquePointer(), value.getAsOpaquePointer());
  });
  llvm::MapVector<void *, Region> regions;
  function.walk([&](Operation *op) {
    SmallVector<Value> values = connectedValues(op);
    if (values.empty())
      return;
    Region &region = regions[classes.getLeaderValue(values.front().getAsOpaquePointer())];
    region.ops.push_back(op);
    region.values.insert(values.begin(), values.end());
    region.cost += layoutCost(op, executor);
    region.hasWindows |= !windowedValues(op).empty();
  });
  SmallVector<Region> result;
  for (auto &[leader, region] : regions)
    if (region.hasWindows)
      result.push_back(std::move(region));
  return result;
}

//===----------------------------------------------------------------------===//
// Channels last
//===----------------------------------------------------------------------===//

/// Dimension i of a value with channels last is this dimension of the value.
SmallVector<int64_t> toLast(int64_t rank) {
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::rotate(permutation.begin() + 1, permutation.begin() + 2, permutation.end());
  return permutation;
}
SmallVector<int64_t> toFirst(int64_t rank) {
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::rotate(permutation.begin() + 1, permutation.end() - 1, permutation.end());
  return permutation;
}

/// The sizes with channels last.
SmallVector<int64_t> sizesLast(ArrayRef<int64_t> sizes) {
  return llvm::map_to_vector(toLast(sizes.size()), [&](int64_t p) { return sizes[p]; });
}

class ChannelsLastWriter {
public:
  /// Writes the ops of a region anew.
  void write(const Region &region) {
    for (Operation *op : region.ops)
      write(op);
  }

  /// What reads the ops from outside reads transpositions; removes the ops.
  void finish() {
    for (Operation *op : llvm::reverse(replaced)) {
      for (Value result : op->getResults())
        if (!result.use_empty()) {
          Value last = views.lookup(result);
          OpBuilder b(op);
          result.replaceAllUsesWith(
              b.create<TransposeOp>(op->getLoc(), last, toFirst(typeOf(last).getRank())));
        }
      op->erase();
    }
  }

private:
  void write(Operation *op) {
    OpBuilder b(op);
    bool isWindowed = !windowedValues(op).empty();
    int64_t rank = typeOf(op->getResult(0)).getRank();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, isWindowed ? stored(operand) : view(operand, rank));
    Operation *clone = b.clone(*op, mapping);
    for (Value result : clone->getResults())
      result.setType(typeOf(result).clone(sizesLast(typeOf(result).getShape())));
    TypeSwitch<Operation *>(clone)
        .Case<ConvOp, ConvInputGradientOp, ConvWeightGradientOp, MaxPoolOp, MaxPoolGradientOp,
              AveragePoolOp, AveragePoolGradientOp>(
            [](auto window) { window.setChannelsLast(true); })
        .Case([](BroadcastOp broadcast) { broadcast.setSizes(sizesLast(broadcast.getSizes())); })
        .Case([](ReductionOpInterface reduction) {
          SmallVector<int64_t> axes;
          for (auto [i, p] : llvm::enumerate(toLast(typeOf(reduction->getOperand(0)).getRank())))
            if (llvm::is_contained(reduction.getAxes(), p))
              axes.push_back(i);
          reduction.setAxes(axes);
        });
    for (auto [result, written] : llvm::zip(op->getResults(), clone->getResults()))
      views[result] = written;
    replaced.push_back(op);
  }

  /// `value` with channels last, and with leading dimensions of size 1 up to `rank`.
  Value view(Value value, int64_t rank) {
    int64_t missing = rank - typeOf(value).getRank();
    if (Value known = missing == 0 ? views.lookup(value) : Value())
      return known;
    ImplicitLocOpBuilder b(value.getLoc(), value.getContext());
    b.setInsertionPointAfterValue(value);
    SmallVector<int64_t> sizes(missing, 1);
    llvm::append_range(sizes, typeOf(value).getShape());
    Value padded = b.createOrFold<ReshapeOp>(value, sizes);
    Value result = b.create<TransposeOp>(padded, toLast(rank));
    if (missing == 0)
      views[value] = result;
    return result;
  }

  /// The same in memory: copied once for all ops that need it there.
  Value stored(Value value) {
    Value last = view(value, typeOf(value).getRank());
    if (!last.getDefiningOp<TransposeOp>() || isContiguous(resolve(last), typeOf(last).getShape()))
      return last;
    ImplicitLocOpBuilder b(value.getLoc(), value.getContext());
    b.setInsertionPointAfterValue(last);
    return views[value] = createCopy(b, last);
  }

  DenseMap<Value, Value> views; // with channels last, by the value with channels first
  SmallVector<Operation *> replaced;
};

struct AssignLayout : halfstep::impl::AssignLayoutPassBase<AssignLayout> {
  using Base::Base;

  void runOnOperation() override {
    Executor executor = target == "cpu" ? Executor::Cpu : Executor::Cuda;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      ChannelsLastWriter writer;
      for (const Region &region : findRegions(function, executor))
        if (layout == Layout::ChannelsLast ||
            (layout == Layout::ByCost &&
             region.cost.channelsLast + region.borderCost(executor) < region.cost.channelsFirst))
          writer.write(region);
      writer.finish();
    }
  }
};
} // namespace

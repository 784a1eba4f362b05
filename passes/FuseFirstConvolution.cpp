//===- FuseFirstConvolution.cpp - A convolution, its loss and its gradient ===//
//
//     %y = table.conv forward %x, %w
//     %sums, %dy = table.launch @loss(%label, %y)
//     %parts = table.conv weight_gradient %dy, %x
//     %dw = table.launch @sum_of_parts(%parts)
// =>
//     %chunks, %parts = table.fused_conv @loss_positions(%x, %w, %label)
//     %sums = table.launch @loss(%chunks)
//     %dw = table.launch @sum_of_parts(%parts)
//
// What is recognised is how values are used, whatever they are: an output that one group reads and
// nobody else, and a result of that group, one number for each of the output, that the weight
// gradient reads and nobody else. That is what a convolution of the data leaves whose output meets
// the label; where only the loss is wanted, there is no such result. The output's accumulators are
// then, rounded, a factor of the weight gradient's product in the very registers in which tensor
// cores want it: two products in a row, as in CUTLASS's fused back-to-back GEMM, with any function
// of a point in between.
//
// The group is taken apart. What it computes at points, and its reductions over an image's
// positions, stay with the convolution; what combines those, and all that follows from them, is a
// group of its own.
//
//===----------------------------------------------------------------------===//

#include "ir/ReductionTree.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/GroupApart.h"
#include "passes/GroupWriter.h"
#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_FUSEFIRSTCONVOLUTIONPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using kernel::GroupOp;
using kernel::ReduceOp;
using table::ConvKind;
using table::ConvOp;
using table::LaunchOp;

namespace {
/// The entries that become one, and what sums up the parts of the weight gradient.
struct Match {
  ConvOp forward, gradient;
  LaunchOp launch, sum;
  GroupOp group, groupOfSum;
  unsigned output = 0;        // an argument of the group
  std::optional<unsigned> dy; // a result; without one, there is no gradient either
};
} // namespace

template <typename User> static User onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<User>(*value.user_begin()) : User();
}

/// Steps do not give the filters' sizes: filters of several sizes fit an image equally often.
static bool haveOneWindow(ConvOp a, ConvOp b) {
  return a.getConvolution()[1].getShape() == b.getConvolution()[1].getShape() &&
         a.getStrides() == b.getStrides() && a.getDilations() == b.getDilations() &&
         a.getPads() == b.getPads() && a.getGroups() == b.getGroups() &&
         a.getChannelsLast() == b.getChannelsLast();
}

static std::optional<Match> match(ConvOp forward, const SymbolTable &kernels) {
  Match found{forward, {}, onlyUser<LaunchOp>(forward.getC()), {}, {}, {}};
  if (!found.launch || found.launch.getUpdates())
    return std::nullopt;
  found.output = forward.getC().use_begin()->getOperandNumber();
  found.group = kernels.lookup<GroupOp>(found.launch.getKernel());
  for (OpResult result : found.launch.getOutputs())
    if (auto conv = onlyUser<ConvOp>(result);
        conv && conv.getKind() == ConvKind::WeightGradient && conv.getA() == result) {
      found.gradient = conv;
      found.dy = result.getResultNumber();
    }
  if (!found.group)
    return std::nullopt;
  if (!found.gradient)
    return found;
  if (found.gradient.getB() != forward.getA() || !haveOneWindow(forward, found.gradient))
    return std::nullopt;
  found.sum = onlyUser<LaunchOp>(found.gradient.getC());
  found.groupOfSum = found.sum ? kernels.lookup<GroupOp>(found.sum.getKernel()) : GroupOp();
  return found.groupOfSum ? std::optional(found) : std::nullopt;
}

/// What the kernel has registers and shared memory for, in numbers that tensor cores multiply.
static bool isForKernel(const Match &match) {
  constexpr int64_t mostPoints = 32; // of a filter: two steps of the product's depth
  constexpr size_t mostReductions = 4;
  auto [x, w, y] = ConvOp(match.forward).getConvolution();
  Type type = x.getElementType();
  SmallVector<ReduceOp> reduces(GroupOp(match.group).getBlock().getOps<ReduceOp>());
  return (type.isF16() || type.isBF16()) && w.getElementType() == type &&
         y.getElementType() == type &&
         (!match.dy || LaunchOp(match.launch).getResultTypes()[*match.dy] == y) &&
         ConvOp(match.forward).getGroups() == 1 &&
         llvm::is_contained({16, 32, 64, 128}, w.getDimSize(0)) &&
         w.getNumElements() <= mostPoints * w.getDimSize(0) && !reduces.empty() &&
         reduces.size() <= mostReductions &&
         llvm::all_of(reduces, [](ReduceOp op) { return op.getType().isF32(); });
}

/// Whether the group computes dy, and what it reduces, at each position on its own, and all other
/// results from its reductions.
static bool isPointwise(const Match &match, const ConvolutionWalk &walk) {
  GroupOp group = match.group;
  kernel::ValueAnalysis analysis(group);
  int64_t reduced = group.getReducedDimension();
  for (Operation &op : group.getBlock().without_terminator()) {
    unsigned phase = analysis.phase(op.getResult(0));
    if (phase > 1 || (phase == 1 && analysis.varies(op.getResult(0), reduced)))
      return false;
  }
  unsigned arguments = group.getBlock().getNumArguments();
  for (auto [i, value] : llvm::enumerate(group.getYield().getValues()))
    if ((analysis.phase(value) == 0) != (match.dy == i))
      return false;
  auto isAsOutput = [&](unsigned buffer) {
    return walk.buffers[buffer] == walk.buffers[match.output] && group.getBufferOffset(buffer) == 0;
  };
  return walk.isReduced[kPosition] && isAsOutput(match.output) &&
         (!match.dy || isAsOutput(arguments + *match.dy));
}

/// How many parts of a weight gradient there are: as many blocks as keep a device busy, each with
/// the same share of the chunks up to one, and as few as one chunk of a sum over rows takes.
static int64_t partsOf(const ConvolutionWalk &walk) {
  constexpr int64_t most = 512;
  return std::min(most, walk.sizes[kImage] * kernel::ColumnTree(walk.sizes[kPosition]).chunks);
}

/// The sum over another number of parts; null if the group is no plain one.
static GroupOp withParts(GroupOp sum, int64_t parts) {
  ArrayRef<int64_t> space = sum.getSpace();
  if (space.size() != 2 || sum.getReducedDimension() != 0 ||
      sum.getBlock().getNumArguments() != 1 ||
      sum.getBufferStrides(0) != ArrayRef<int64_t>{space[1], 1})
    return GroupOp();
  auto copy = cast<GroupOp>(OpBuilder(sum).clone(*sum));
  copy.setSpace({parts, space[1]});
  return copy;
}

namespace {
struct FuseFirstConvolution : halfstep::impl::FuseFirstConvolutionPassBase<FuseFirstConvolution> {
  void fuse(Match match, SymbolTable &kernels) {
    auto [x, w, y] = match.forward.getConvolution();
    auto walk = ConvolutionWalk::of(match.group, match.output, y, match.forward.getChannelsLast());
    if (!walk || !isForKernel(match) || !isPointwise(match, *walk))
      return;
    GroupOp groupOfSum;
    if (match.gradient) {
      groupOfSum = withParts(match.groupOfSum, partsOf(*walk));
      if (!groupOfSum)
        return;
      kernels.insert(groupOfSum);
    }
    GroupApart apart = takeApart(match.group, match.output, match.dy, *walk, kernels);

    OpBuilder b(match.launch);
    auto location = FusedLoc::get(&getContext(), {match.forward.getLoc(), match.launch.getLoc()});
    auto pick = [&](ArrayRef<unsigned> arguments) {
      return llvm::map_to_vector(arguments,
                                 [&](unsigned i) { return Value(match.launch.getInputs()[i]); });
    };
    SmallVector<Type> types(apart.valueTypes);
    for (auto [result, value] : apart.finished)
      types[value] = match.launch.getResultTypes()[result];
    SmallVector<int64_t> shape(w.getShape());
    shape.insert(shape.begin(), partsOf(*walk));
    auto conv = b.create<table::FusedConvOp>(
        location, types, match.gradient ? RankedTensorType::get(shape, b.getF32Type()) : Type(),
        apart.positions.getSymName(), match.forward.getA(), match.forward.getB(),
        pick(ArrayRef(apart.positionArguments).drop_front()), match.forward.getStrides(),
        match.forward.getDilations(), match.forward.getPads(), match.forward.getChannelsLast(),
        ArrayAttr());
    for (auto [result, value] : apart.finished)
      match.launch.getOutputs()[result].replaceAllUsesWith(conv.getOutputs()[value]);
    if (apart.sums) {
      SmallVector<Value> operands(conv.getOutputs());
      operands.append(pick(apart.sumArguments));
      auto resultTypes = llvm::map_to_vector(
          apart.sumResults, [&](unsigned i) { return match.launch.getResultTypes()[i]; });
      auto sums = createLaunch(b, match.launch.getLoc(), resultTypes, apart.sums, operands);
      for (auto [result, value] : llvm::zip(apart.sumResults, sums.getOutputs()))
        match.launch.getOutputs()[result].replaceAllUsesWith(value);
    }
    if (match.gradient) {
      match.sum.setKernelAttr(FlatSymbolRefAttr::get(groupOfSum.getSymNameAttr()));
      match.gradient.getC().replaceAllUsesWith(conv.getDw());
      match.gradient.erase();
      kernels.erase(match.groupOfSum);
    }
    match.launch.erase();
    match.forward.erase();
    kernels.erase(match.group);
  }

  void runOnOperation() override {
    SymbolTable kernels(getOperation());
    SmallVector<ConvOp> convolutions;
    getOperation().walk([&](ConvOp conv) {
      if (conv.getKind() == ConvKind::Forward)
        convolutions.push_back(conv);
    });
    for (ConvOp conv : convolutions)
      if (auto found = match(conv, kernels))
        fuse(*found, kernels);
  }
};
} // namespace

//===- FusionGroup.cpp - What may be computed in one kernel ---------------===//

#include "passes/FusionGroup.h"
#include "ir/ReductionTree.h"
#include "ir/TrainDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

static ArrayRef<int64_t> sizesOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Sizes FusionGroup::kept() const {
  Sizes result(space);
  result.erase(result.begin() + runBegin, result.begin() + runEnd);
  return result;
}

ValueRange halfstep::elementOperands(Operation *op) {
  return isa<InsertOp>(op) ? op->getOperands().take_front() : op->getOperands();
}

/// The shape at whose points `op` is evaluated: its operand's if it reduces it or puts it
/// somewhere, else its result's.
static ArrayRef<int64_t> pointsOf(Operation *op) {
  bool followsOperand = isa<ReductionOpInterface, InsertOp>(op);
  return sizesOf(followsOperand ? op->getOperand(0) : op->getResult(0));
}

/// Puts strides of the kept dimensions at their places in the whole space.
static Sizes widen(const FusionGroup &group, ArrayRef<int64_t> kept) {
  Sizes result(kept);
  result.insert(result.begin() + group.runBegin, group.runEnd - group.runBegin, 0);
  return result;
}

Walk FusionGroup::resultWalk(Operation *op) const {
  auto insert = dyn_cast<InsertOp>(op);
  if (!insert)
    return {reduced.contains(op) ? widen(*this, rowMajor(kept())) : rowMajor(space)};
  ArrayRef<int64_t> points = pointsOf(op);
  Walk part = walkPart({rowMajor(insert.getSizes())}, placeOf(insert), points);
  Sizes strides;
  for (auto [size, stride] : llvm::zip(points, part.strides))
    if (size != 1)
      strides.push_back(stride);
  return {reduced.contains(op) ? widen(*this, strides) : strides, part.offset};
}

Walk FusionGroup::operandWalk(Operation *op, Value operand) const {
  Access access = resolve(operand);
  ArrayRef<int64_t> points = pointsOf(op);
  size_t missing = points.size() - access.strides.size();
  Sizes strides;
  for (auto [i, size] : llvm::enumerate(points))
    if (size != 1)
      strides.push_back(i < missing ? 0 : access.strides[i - missing]);
  bool atReducedPoint = reduced.contains(op) && !isa<ReductionOpInterface>(op);
  return {atReducedPoint ? widen(*this, strides) : strides, access.offset};
}

Sizes FusionGroup::kernelSpace() const {
  auto product = [&](unsigned begin, unsigned end) {
    int64_t result = 1;
    for (unsigned i = begin; i < end; ++i)
      result *= space[i];
    return result;
  };
  Sizes result(space);
  if (reduces()) {
    result.resize(runBegin);
    result.push_back(product(runBegin, runEnd));
    if (!reducesRows())
      result.push_back(product(runEnd, space.size()));
  }
  if (result.empty())
    result.push_back(1);
  return result;
}

std::optional<Sizes> FusionGroup::kernelStrides(ArrayRef<int64_t> strides) const {
  Sizes result(strides);
  if (reduces()) {
    result.resize(runBegin);
    for (auto [begin, end] : {std::pair{runBegin, runEnd}, {runEnd, unsigned(space.size())}}) {
      if (begin == end)
        continue;
      for (unsigned i = begin; i + 1 < end; ++i)
        if (strides[i] != strides[i + 1] * space[i + 1])
          return std::nullopt;
      result.push_back(strides[end - 1]);
    }
  }
  if (result.empty())
    result.push_back(0);
  return result;
}

bool FusionGroup::isValid() const {
  // Values that wait for a reduction: they exist only when a walk over the run has ended.
  DenseSet<Operation *> waits;
  for (Operation *op : ops) {
    bool isReduction = isa<ReductionOpInterface>(op);
    bool usesReduced = false;
    // What is computed in place is written once a kernel, and its parts may not walk as one.
    if (auto insert = dyn_cast<InsertOp>(op))
      if ((insert.getInto() && ops.contains(insert.getInto().getDefiningOp())) ||
          !kernelStrides(resultWalk(op).strides))
        return false;
    for (Value operand : elementOperands(op)) {
      if (isComputedByReaders(operand))
        continue;
      Walk walk = operandWalk(op, operand);
      Operation *producer = resolve(operand).root.getDefiningOp();
      if (!producer || !ops.contains(producer)) {
        if (!kernelStrides(walk.strides))
          return false;
        continue;
      }
      if (!(walk == resultWalk(producer)))
        return false;
      if (waits.contains(producer)) {
        waits.insert(op);
        usesReduced = true;
      }
    }
    if (isReduction)
      waits.insert(op);
    if (!usesReduced || (reduced.contains(op) && !isReduction))
      continue;
    // Behind a reduction over the rows there are only column values. Behind one over a whole row
    // the row is walked again, by one thread of a CPU or one block of a device: rows must be short
    // or many. A block moves some 100 GB/s, which makes 4 us for a chunk of an optimizer's update;
    // cut in three, the update has up to four launches more, at 2 us each. They meet at two chunks.
    const int64_t kLongRow = 2 * kernel::RowTree(1).chunk, kManyRows = 64;
    if (!reducesRows())
      return false;
    int64_t length = kernelSpace().back();
    int64_t rows = ShapedType::getNumElements(space) / std::max<int64_t>(length, 1);
    if (length > kLongRow && rows < kManyRows)
      return false;
  }
  return true;
}

std::optional<FusionGroup> FusionGroup::unite(const FusionGroup &a, const FusionGroup &b) {
  FusionGroup result;
  auto take = [&](const FusionGroup &from, bool allReduced) {
    for (Operation *op : from.ops) {
      result.ops.insert(op);
      if (allReduced || from.reduced.contains(op))
        result.reduced.insert(op);
    }
  };
  bool same =
      a.space == b.space && (!a.reduces() || !b.reduces() ||
                             std::pair(a.runBegin, a.runEnd) == std::pair(b.runBegin, b.runEnd));
  bool aInB = !a.reduces() && b.reduces() && a.space == b.kept();
  bool bInA = !b.reduces() && a.reduces() && b.space == a.kept();
  if (!same && !aInB && !bInA)
    return std::nullopt;
  const FusionGroup &frame = same ? (a.reduces() ? a : b) : (aInB ? b : a);
  result.space = frame.space;
  result.runBegin = frame.runBegin;
  result.runEnd = frame.runEnd;
  take(a, !same && aInB);
  take(b, !same && bInA);
  return result;
}

FusionGroup FusionGroup::of(Operation *op) {
  FusionGroup group;
  group.ops.insert(op);
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  ArrayRef<int64_t> sizes = pointsOf(op);
  bool inRun = false;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size == 1)
      continue;
    if (reduction && llvm::is_contained(reduction.getAxes(), int64_t(i))) {
      if (!inRun)
        group.runBegin = group.space.size();
      inRun = true;
      group.runEnd = group.space.size() + 1;
    }
    group.space.push_back(size);
  }
  if (reduction)
    group.reduced.insert(op);
  return group;
}

//===- FusionGroup.cpp - What may be computed in one kernel ---------------===//

#include "passes/FusionGroup.h"
#include "ir/TrainDialect.h"
#include "passes/BiasedProduct.h"
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

/// Puts strides of the kept dimensions at their places in the whole space.
static Sizes widen(const FusionGroup &group, ArrayRef<int64_t> kept) {
  Sizes result(kept);
  result.insert(result.begin() + group.runBegin, group.runEnd - group.runBegin, 0);
  return result;
}

Sizes FusionGroup::naturalStrides(Operation *op) const {
  return reduced.contains(op) ? widen(*this, rowMajor(kept())) : rowMajor(space);
}

Sizes FusionGroup::operandStrides(Operation *op, Value operand) const {
  Access access = resolve(operand);
  // A reduction is evaluated where its operand is, everything else where its result is.
  ArrayRef<int64_t> point = sizesOf(isa<ReductionOpInterface>(op) ? operand : op->getResult(0));
  size_t missing = point.size() - access.strides.size();
  Sizes strides;
  for (auto [i, size] : llvm::enumerate(point))
    if (size != 1)
      strides.push_back(i < missing ? 0 : access.strides[i - missing]);
  bool atReducedPoint = reduced.contains(op) && !isa<ReductionOpInterface>(op);
  return atReducedPoint ? widen(*this, strides) : strides;
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
    for (Value operand : op->getOperands()) {
      if (isUniformConstant(operand))
        continue;
      Sizes strides = operandStrides(op, operand);
      Operation *producer = resolve(operand).root.getDefiningOp();
      if (!producer || !ops.contains(producer)) {
        if (!kernelStrides(strides))
          return false;
        continue;
      }
      if (strides != naturalStrides(producer))
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
    // the row is walked again: by one thread, so rows must be short or many.
    constexpr int64_t kLongRow = 65536, kManyRows = 64;
    if (!reducesRows())
      return false;
    int64_t length = kernelSpace().back();
    int64_t rows = ShapedType::getNumElements(space) / std::max<int64_t>(length, 1);
    if (length > kLongRow && rows < kManyRows)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// The union of two groups over a common space, if there is one; not yet known to be valid.
static std::optional<FusionGroup> unite(const FusionGroup &a, const FusionGroup &b) {
  FusionGroup result;
  auto take = [&](const FusionGroup &from, bool allReduced) {
    for (Operation *op : from.ops) {
      result.ops.insert(op);
      if (allReduced || from.reduced.contains(op))
        result.reduced.insert(op);
    }
  };
  bool same = a.space == b.space && (!a.reduces() || !b.reduces() ||
                                     std::pair(a.runBegin, a.runEnd) ==
                                         std::pair(b.runBegin, b.runEnd));
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
  ArrayRef<int64_t> sizes = sizesOf(reduction ? op->getOperand(0) : op->getResult(0));
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

FusionPlan::FusionPlan(func::FuncOp function, bool fuse) : function(function) {
  for (Operation &op : function.front()) {
    position[&op] = position.size();
    if (!isa<ScalarOpInterface, MapOp, ReductionOpInterface>(op) ||
        (isa<ScalarOpInterface>(op) && isUniformConstant(op.getResult(0))) || biasedProduct(&op))
      continue;
    storage.push_back(std::make_unique<FusionGroup>(FusionGroup::of(&op)));
    groups[&op] = storage.back().get();
  }
  if (fuse) {
    fuseProducers();
    fuseSiblings();
  }
  schedule();
}

/// Calls `visit` with every op that reads the results of `op`, through movement ops.
static void forEachReader(Operation *op, llvm::function_ref<void(Operation *)> visit) {
  for (Operation *user : op->getUsers())
    if (isMovement(user))
      forEachReader(user, visit);
    else
      visit(user);
}

/// Whether a path leaves the two groups and comes back.
bool FusionPlan::createsCycle(const FusionGroup &a, const FusionGroup &b) const {
  auto isInside = [&](Operation *op) {
    const FusionGroup *group = groupOf(op);
    return group == &a || group == &b;
  };
  // Not bounded by program order: another group may have a member far ahead and one behind.
  DenseSet<Operation *> seen;
  SmallVector<Operation *> worklist;
  auto follow = [&](Operation *op) {
    forEachReader(op, [&](Operation *reader) {
      if (seen.insert(reader).second)
        worklist.push_back(reader);
    });
  };
  for (const FusionGroup *group : {&a, &b})
    for (Operation *op : group->ops)
      forEachReader(op, [&](Operation *reader) {
        if (!isInside(reader) && seen.insert(reader).second)
          worklist.push_back(reader);
      });
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (isInside(op))
      return true;
    if (FusionGroup *group = groupOf(op)) // a kernel is done when all of it is
      for (Operation *member : group->ops)
        follow(member);
    else
      follow(op);
  }
  return false;
}

void FusionPlan::merge(FusionGroup *a, FusionGroup *b) {
  if (a == b)
    return;
  auto united = unite(*a, *b);
  if (!united)
    return;
  auto ops = united->ops.takeVector();
  llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
  united->ops.insert(ops.begin(), ops.end());
  if (!united->isValid() || createsCycle(*a, *b))
    return;
  *a = std::move(*united);
  b->ops.clear();
  for (Operation *op : a->ops)
    groups[op] = a;
}

void FusionPlan::fuseProducers() {
  for (Operation &op : function.front())
    for (Value operand : op.getOperands())
      if (Operation *producer = resolve(operand).root.getDefiningOp())
        if (groupOf(&op) && groupOf(producer))
          merge(groupOf(producer), groupOf(&op));
}

/// Readers of one buffer share the read, and scalars, of which there are many small ones, a launch:
/// their own or that of a reduction to a scalar.
void FusionPlan::fuseSiblings() {
  DenseMap<Value, SmallVector<Operation *>> readers;
  for (Operation &op : function.front())
    if (groupOf(&op))
      for (Value operand : op.getOperands())
        if (!isUniformConstant(operand))
          readers[resolve(operand).root].push_back(&op);
  for (Operation &op : function.front())
    if (groupOf(&op))
      for (Value operand : op.getOperands())
        if (!isUniformConstant(operand))
          merge(groupOf(readers[resolve(operand).root].front()), groupOf(&op));
  SmallVector<Operation *> scalars;
  for (Operation &op : function.front()) {
    if (!groupOf(&op) || !groupOf(&op)->kept().empty())
      continue;
    for (Operation *other : scalars)
      if (groupOf(other)->space.empty() || groupOf(&op)->space.empty())
        merge(groupOf(other), groupOf(&op));
    if (scalars.empty() || groupOf(scalars.back()) != groupOf(&op))
      scalars.push_back(&op);
  }
}

/// Topological order that follows the program's where it can.
void FusionPlan::schedule() {
  DenseSet<Operation *> done;
  std::function<void(Operation *)> emit = [&](Operation *op) {
    if (!op || done.contains(op))
      return;
    FusionGroup *group = groupOf(op);
    auto members = group ? group->ops.getArrayRef() : ArrayRef(op);
    done.insert(members.begin(), members.end());
    for (Operation *member : members)
      for (Value operand : member->getOperands())
        emit(operand.getDefiningOp());
    order.push_back({group, op});
  };
  for (Operation &op : function.front())
    emit(&op);
}

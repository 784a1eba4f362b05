//===- FusionPlan.cpp - What is computed together -------------------------===//
//
// Greedy, in four sweeps over the program: addends join their sum, a producer its consumers, readers
// of one buffer each other, scalars any launch that can take them. A merge stands if the ops can form
// one kernel (FusionGroup) and the kernel does not wait for itself (ContractedOrder).
//
//===----------------------------------------------------------------------===//

#include "passes/FusionPlan.h"
#include "ir/TrainDialect.h"
#include "passes/BiasedProduct.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

FusionPlan::FusionPlan(func::FuncOp function, bool fuse)
    : function(function), order(function.front()) {
  for (Operation &op : function.front()) {
    position[&op] = position.size();
    if (!isa<ScalarOpInterface, MapOp, ReductionOpInterface, InsertOp>(op) ||
        (isa<ScalarOpInterface>(op) && isComputedByReaders(op.getResult(0))) || biasedProduct(&op))
      continue;
    storage.push_back(std::make_unique<FusionGroup>(FusionGroup::of(&op)));
    groups[&op] = storage.back().get();
  }
  if (fuse) {
    fuseAddends();
    fuseProducers();
    fuseSiblings();
  }
  schedule();
}

void FusionPlan::merge(FusionGroup *a, FusionGroup *b) {
  if (a == b)
    return;
  auto united = FusionGroup::unite(*a, *b);
  if (!united)
    return;
  auto ops = united->ops.takeVector();
  llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
  united->ops.insert(ops.begin(), ops.end());
  if (!united->isValid() || !order.merge(a->ops.front(), b->ops.front()))
    return;
  *a = std::move(*united);
  b->ops.clear();
  for (Operation *op : a->ops)
    groups[op] = a;
}

/// What only a reduction reads is never in memory. It is the reduction's before it is anyone else's:
/// the addends of a column sum may be made of row values, but not in the kernel that makes those.
void FusionPlan::fuseAddends() {
  for (Operation &op : function.front())
    if (isa<ReductionOpInterface>(op))
      if (Operation *addend = resolve(op.getOperand(0)).root.getDefiningOp())
        if (groupOf(addend) && addend->hasOneUse())
          merge(groupOf(addend), groupOf(&op));
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
        if (!isComputedByReaders(operand))
          readers[resolve(operand).root].push_back(&op);
  for (Operation &op : function.front())
    if (groupOf(&op))
      for (Value operand : op.getOperands())
        if (!isComputedByReaders(operand))
          for (Operation *other : readers[resolve(operand).root]) {
            if (other == &op)
              break;
            merge(groupOf(other), groupOf(&op));
          }
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
    sequence.push_back({group, op});
  };
  for (Operation &op : function.front())
    emit(&op);
}

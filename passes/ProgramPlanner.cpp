//===- ProgramPlanner.cpp - The slices of one program ---------------------===//

#include "passes/ProgramPlanner.h"
#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::table;

ProgramPlanner::ProgramPlanner(func::FuncOp program, const Directory &directory, bool reuse,
                               Sharings &sharings)
    : program(program), directory(directory), reuse(reuse), sharings(sharings),
      terminator(program.front().getTerminator()) {}

LogicalResult ProgramPlanner::run() {
  if (failed(bindArguments()))
    return failure();
  copyReturnedArguments();
  if (failed(placeUpdates()))
    return failure();
  assignStorages();
  writeSlices();
  return success();
}

InFlightDiagnostic ProgramPlanner::error(StringRef what, unsigned number) {
  return emitError(program.getLoc())
         << "plan-memory: " << what << " " << number << " of @" << program.getSymName();
}

LogicalResult ProgramPlanner::bindArguments() {
  for (BlockArgument argument : program.getArguments()) {
    unsigned number = argument.getArgNumber();
    Operation *named = directory.argument(program, number);
    if (!named)
      return error("argument", number) << " names nothing that the directory has";
    SliceAttr slice = halfstep::sliceOf(named);
    if (slice.getBytes() != bytesOf(argument))
      return error("argument", number)
             << " is " << argument.getType() << ", but the directory has " << typeOf(named);
    slices[argument] = slice;
  }
  return success();
}

void ProgramPlanner::copyReturnedArguments() {
  OpBuilder builder(terminator);
  llvm::SmallDenseSet<Value> returned;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value storage = storageOf(operand.get());
    if (!isa<BlockArgument>(storage) && returned.insert(storage).second)
      continue;
    Operation *target = directory.updatedBy(program, operand.getOperandNumber());
    if (target && slices.lookup(storage) == halfstep::sliceOf(target))
      continue; // state that stays as it is
    operand.set(
        builder.create<CopyOp>(operand.get().getLoc(), operand.get().getType(), operand.get()));
  }
}

/// Puts new values of state where they belong: at once, or by a copy in the end. All copies of
/// arguments come before, so that these copies cannot overwrite what is still to be read.
LogicalResult ProgramPlanner::placeUpdates() {
  OpBuilder builder(terminator);
  SmallVector<SliceAttr> updated;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (!Directory::isUpdate(program, number))
      continue;
    Operation *target = directory.updatedBy(program, number);
    if (!target)
      return error("result", number) << " updates nothing that the directory has";
    SliceAttr slice = halfstep::sliceOf(target);
    if (slice.getBytes() != bytesOf(operand.get()))
      return error("result", number)
             << " is " << operand.get().getType() << ", but the directory has " << typeOf(target);
    if (llvm::any_of(updated, [&](SliceAttr other) { return overlap(slice, other); }))
      return error("result", number) << " updates what another result updates";
    updated.push_back(slice);
    auto storage = dyn_cast<OpResult>(storageOf(operand.get()));
    if (!storage || (reuse && bytesOf(storage) == slice.getBytes() && computeInto(storage, slice)))
      continue;
    auto copy =
        builder.create<CopyOp>(operand.get().getLoc(), operand.get().getType(), operand.get());
    operand.set(copy);
    slices[copy] = slice;
  }
  return success();
}

/// Plans the producer of `value` to write right into the state at `slice`: the old value there must
/// not be read behind it, and by itself only where it can work in place.
bool ProgramPlanner::computeInto(OpResult value, SliceAttr slice) {
  Operation *producer = value.getOwner();
  for (BlockArgument argument : program.getArguments())
    if (overlap(slices.lookup(argument), slice))
      for (Operation *reader : readersOf(argument))
        if (producer->isBeforeInBlock(reader))
          return false;
  SmallVector<unsigned> old;
  for (OpOperand &operand : producer->getOpOperands())
    if (SliceAttr read = sliceOf(operand.get()); read && overlap(read, slice))
      old.push_back(operand.getOperandNumber());
  if (!old.empty()) {
    Sharing sharing{old[0], value.getResultNumber()};
    if (old.size() > 1 || sliceOf(producer->getOperand(old[0])) != slice ||
        !canShare(producer, sharing, sharings))
      return false;
    sharings[producer].push_back(sharing);
  }
  slices[value] = slice;
  return true;
}

/// From the entry that makes the value to the last one that reads it; returned values are read by
/// the terminator.
LiveRange ProgramPlanner::liveRange(Value storage) const {
  LiveRange range{bytesOf(storage), 0, position.lookup(terminator)};
  if (isWorkspace(storage))
    range.alignment = kWorkspaceAlignment;
  if (!reuse)
    return range;
  unsigned first = position.lookup(storage.getDefiningOp()), last = first;
  for (Operation *reader : readersOfStorage(storage))
    last = std::max(last, position.lookup(reader));
  range.first = first;
  range.last = last;
  return range;
}

void ProgramPlanner::assignStorages() {
  unsigned entries = 0;
  for (Operation &op : program.front())
    if (!isa<AliasOp>(op))
      position[&op] = entries++;

  for (Operation &op : program.front().without_terminator()) {
    if (isa<AliasOp>(op))
      continue;
    for (OpResult result : op.getResults()) {
      if (slices.contains(result) || storageOf(result) != result)
        continue; // in the state, or where the operand is that it updates
      LiveRange range = liveRange(result);
      if (auto operand = dyingOperand(result)) {
        sharings[&op].push_back({*operand, result.getResultNumber()});
        Storage *storage = arenaStorage(op.getOperand(*operand));
        storageIndex[result] = storage - storages.begin();
        storage->values.push_back(result);
        storage->range.last = range.last;
        continue;
      }
      storageIndex[result] = storages.size();
      storages.push_back({range, {result}});
    }
  }

  arena = plan(llvm::map_to_vector(storages, [](const Storage &storage) { return storage.range; }));
  for (auto [storage, offset] : llvm::zip(storages, arena.offsets))
    for (Value value : storage.values)
      slices[value] = SliceAttr::get(value.getContext(), kArena, offset, storage.range.bytes);
}

ProgramPlanner::Storage *ProgramPlanner::arenaStorage(Value value) {
  auto found = storageIndex.find(storageOf(value));
  return found == storageIndex.end() ? nullptr : &storages[found->second];
}

/// The operand that dies at the entry that makes `result` and leaves its memory to it.
std::optional<unsigned> ProgramPlanner::dyingOperand(OpResult result) {
  Operation *op = result.getOwner();
  for (OpOperand &operand : op->getOpOperands()) {
    Storage *dying = arenaStorage(operand.get());
    if (!dying || dying->range.last != position.lookup(op) || dying->range.bytes != bytesOf(result))
      continue;
    auto passed = llvm::count_if(op->getOperands(),
                                 [&](Value other) { return arenaStorage(other) == dying; });
    Sharing sharing{operand.getOperandNumber(), result.getResultNumber()};
    if (passed == 1 && canShare(op, sharing, sharings))
      return sharing.argument;
  }
  return std::nullopt;
}

void ProgramPlanner::writeSlices() {
  Builder builder(program.getContext());
  for (Operation &op : program.front().without_terminator()) {
    if (isa<AliasOp>(op))
      continue;
    SmallVector<Attribute> all;
    for (Value value : op.getOperands())
      all.push_back(sliceOf(value));
    for (Value value : op.getResults())
      all.push_back(sliceOf(value));
    op.setAttr("slices", builder.getArrayAttr(all));
  }
}

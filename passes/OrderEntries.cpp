//===- OrderEntries.cpp - Order entries so that few bytes live at once ----===//
//
// List scheduling over the values' dependences. Of the ready entries the next is the one that
// leaves the fewest bytes behind: allocated results less operands that nobody else reads. Ties keep
// the given order. It looks one entry ahead, which finds what matters in a training step (a
// weight's gradient before the next adjoint) but not every optimum; so the order is taken only if
// its maximum of live bytes is lower.
//
//===----------------------------------------------------------------------===//

#include "passes/Directory.h"
#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_ORDERENTRIESPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;

namespace {

/// The bytes of the arena that are live while entries are executed in some order.
class LiveBytes {
public:
  LiveBytes(func::FuncOp program, const Directory &directory) {
    for (Operation &op : program.front())
      if (!isa<table::AliasOp>(op))
        for (Value storage : storagesRead(&op))
          ++readersLeft[storage];
    // A new value of state is computed where the old one is, once nobody else reads that.
    for (OpOperand &operand : program.front().getTerminator()->getOpOperands())
      if (Operation *target = directory.updatedBy(program, operand.getOperandNumber())) {
        Value old;
        for (BlockArgument argument : program.getArguments())
          if (directory.argument(program, argument.getArgNumber()) == target)
            old = argument;
        oldState[storageOf(operand.get())] = old;
      }
  }

  /// Bytes that the entry would add to those live behind it.
  int64_t change(Operation *entry) const {
    return int64_t(allocated(entry)) - int64_t(freed(entry));
  }

  void execute(Operation *entry) {
    live += allocated(entry);
    maximum = std::max(maximum, live);
    live -= freed(entry);
    for (Value storage : storagesRead(entry))
      --readersLeft[storage];
  }

  uint64_t maximum = 0;

private:
  static llvm::SmallSetVector<Value, 4> storagesRead(Operation *entry) {
    llvm::SmallSetVector<Value, 4> storages;
    for (Value operand : entry->getOperands())
      storages.insert(storageOf(operand));
    return storages;
  }

  /// Whether the value is not in the memory of an operand that it updates.
  static bool isOwner(Value result) { return storageOf(result) == result; }

  uint64_t allocated(Operation *entry) const {
    uint64_t bytes = 0;
    for (Value result : entry->getResults())
      if (isOwner(result) && !isInState(result, entry))
        bytes += bytesOf(result);
    return bytes;
  }

  uint64_t freed(Operation *entry) const {
    uint64_t bytes = 0;
    for (Value storage : storagesRead(entry))
      if (storage.getDefiningOp() && !oldState.count(storage) && readersLeft.lookup(storage) == 1)
        bytes += bytesOf(storage);
    for (Value result : entry->getResults())
      if (isOwner(result) && result.use_empty() && !isInState(result, entry))
        bytes += bytesOf(result);
    return bytes;
  }

  bool isInState(Value result, Operation *entry) const {
    auto found = oldState.find(result);
    if (found == oldState.end())
      return false;
    unsigned others = readersLeft.lookup(found->second);
    return others == 0 || (others == 1 && storagesRead(entry).contains(found->second));
  }

  uint64_t live = 0;
  llvm::DenseMap<Value, unsigned> readersLeft;
  llvm::DenseMap<Value, Value> oldState; // of new values of state; null: no argument holds it
};

/// The entries of the program in the greedy order.
SmallVector<Operation *> greedyOrder(func::FuncOp program, LiveBytes &bytes) {
  llvm::DenseMap<Operation *, unsigned> missingOperands, position;
  SmallVector<Operation *> ready; // by position
  auto producers = [](Operation *entry) {
    llvm::SmallSetVector<Operation *, 4> ops;
    for (Value operand : entry->getOperands())
      if (Operation *producer = viewed(operand).getDefiningOp())
        ops.insert(producer);
    return ops;
  };
  unsigned count = 0;
  for (Operation &op : program.front().without_terminator())
    if (!isa<table::AliasOp>(op)) {
      position[&op] = count++;
      missingOperands[&op] = producers(&op).size();
      if (missingOperands[&op] == 0)
        ready.push_back(&op);
    }

  SmallVector<Operation *> order;
  while (!ready.empty()) {
    auto *next = ready.begin();
    int64_t least = bytes.change(*next);
    for (auto *candidate = next + 1; candidate != ready.end(); ++candidate)
      if (int64_t change = bytes.change(*candidate); change < least) {
        next = candidate;
        least = change;
      }
    Operation *entry = *next;
    ready.erase(next);
    bytes.execute(entry);
    order.push_back(entry);
    llvm::SmallSetVector<Operation *, 4> consumers;
    for (Value result : entry->getResults())
      for (Operation *reader : readersOf(result))
        consumers.insert(reader);
    for (Operation *consumer : consumers)
      if (position.count(consumer) && --missingOperands[consumer] == 0)
        ready.insert(llvm::upper_bound(ready, consumer,
                                       [&](Operation *a, Operation *b) {
                                         return position.lookup(a) < position.lookup(b);
                                       }),
                     consumer);
  }
  return order;
}

struct OrderEntries : halfstep::impl::OrderEntriesPassBase<OrderEntries> {
  using Base::Base;

  /// Moves the aliases of `value` in front of the terminator, which follows what makes them. Those
  /// of arguments stay in front of all entries.
  static void moveAliases(Value value, Operation *terminator) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      if (auto alias = dyn_cast<table::AliasOp>(user)) {
        alias->moveBefore(terminator);
        moveAliases(alias.getView(), terminator);
      }
  }

  void runOnOperation() override {
    Directory directory(getOperation());
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      LiveBytes given(program, directory), greedy(program, directory);
      for (Operation &op : program.front().without_terminator())
        if (!isa<table::AliasOp>(op))
          given.execute(&op);
      SmallVector<Operation *> order = greedyOrder(program, greedy);
      if (greedy.maximum >= given.maximum)
        continue;
      Operation *terminator = program.front().getTerminator();
      for (Operation *entry : order) {
        entry->moveBefore(terminator);
        for (Value result : entry->getResults())
          moveAliases(result, terminator);
      }
    }
  }
};

} // namespace

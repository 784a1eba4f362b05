//===- ContractedOrder.cpp - A topological order that survives merging ----===//

#include "passes/ContractedOrder.h"
#include "passes/Access.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace halfstep;

/// Calls `visit` with every op that reads results of `op`, through movement ops.
static void forEachReader(Operation *op, llvm::function_ref<void(Operation *)> visit) {
  for (Operation *user : op->getUsers())
    if (isMovement(user))
      forEachReader(user, visit);
    else
      visit(user);
}

/// Calls `visit` with every op whose results `op` reads, through movement ops.
static void forEachProducer(Operation *op, llvm::function_ref<void(Operation *)> visit) {
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp()) {
      if (isMovement(producer))
        forEachProducer(producer, visit);
      else
        visit(producer);
    }
}

ContractedOrder::ContractedOrder(Block &block) {
  for (Operation &op : block) {
    if (isMovement(&op))
      continue;
    nodeOf[&op] = members.size();
    rank.push_back(members.size());
    members.push_back({&op});
  }
}

std::optional<ContractedOrder::Nodes> ContractedOrder::between(Node begin, Node end,
                                                               bool forward) const {
  auto isBetween = [&](Node node) {
    return forward ? rank[node] < rank[end] : rank[node] > rank[end];
  };
  llvm::DenseSet<Node> seen{begin};
  Nodes found{begin};
  bool reachesEnd = false;
  for (size_t next = 0; next < found.size(); ++next) {
    auto visit = [&](Operation *op) {
      Node node = nodeOf.lookup(op);
      reachesEnd |= node == end && next != 0;
      if (isBetween(node) && seen.insert(node).second)
        found.push_back(node);
    };
    for (Operation *member : members[found[next]])
      forward ? forEachReader(member, visit) : forEachProducer(member, visit);
    if (reachesEnd)
      return std::nullopt;
  }
  found.erase(found.begin());
  return found;
}

bool ContractedOrder::merge(Operation *a, Operation *b) {
  Node first = nodeOf.lookup(a), last = nodeOf.lookup(b);
  if (first == last)
    return true;
  if (rank[first] > rank[last])
    std::swap(first, last);
  std::optional<Nodes> after = between(first, last, /*forward=*/true);
  if (!after)
    return false;
  std::optional<Nodes> before = between(last, first, /*forward=*/false);
  assert(before && "a path of the one direction is one of the other");

  // What the two depend on, the two, what depends on them: on the ranks that all of these had.
  auto byRank = [&](Node x, Node y) { return rank[x] < rank[y]; };
  llvm::sort(*before, byRank);
  llvm::sort(*after, byRank);
  Nodes sequence(*before);
  sequence.push_back(first);
  sequence.append(*after);
  SmallVector<unsigned> ranks{rank[last]};
  for (Node node : sequence)
    ranks.push_back(rank[node]);
  llvm::sort(ranks);
  for (auto [node, newRank] : llvm::zip_first(sequence, ranks))
    rank[node] = newRank;
  for (Operation *op : members[last])
    nodeOf[op] = first;
  llvm::append_range(members[first], std::exchange(members[last], {}));
  return true;
}

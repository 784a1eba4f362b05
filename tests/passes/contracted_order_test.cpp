//===- contracted_order_test.cpp - Merging nodes of an acyclic graph ------===//
//
// Random graphs, merged at random: every answer must be that of a search of the whole graph.
//
//===----------------------------------------------------------------------===//

#include "ir/TrainDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/ContractedOrder.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace mlir;
using namespace halfstep;

namespace {

/// A block of additions, each of two values made before it, some read through a movement op.
struct Graph {
  MLIRContext context;
  Block block;
  std::vector<Operation *> ops;
  std::vector<std::set<size_t>> readers; // of an op
  std::vector<size_t> node;              // of an op, after the merges so far

  Graph(size_t count, std::mt19937 &random) {
    context.loadDialect<train::TrainDialect>();
    Location location = UnknownLoc::get(&context);
    auto type = RankedTensorType::get({2, 2}, Float32Type::get(&context));
    OpBuilder b(&context); // the block is in no region that could name it
    b.setInsertionPointToEnd(&block);
    Value input = block.addArgument(type, location);
    readers.resize(count);
    for (size_t i = 0; i < count; ++i) {
      auto operand = [&]() -> Value {
        size_t from = random() % (i + 1);
        if (from == i)
          return input;
        readers[from].insert(i);
        Value value = ops[from]->getResult(0);
        if (random() % 3 == 0)
          value = b.create<train::TransposeOp>(location, value, ArrayRef<int64_t>{1, 0});
        return value;
      };
      Value lhs = operand(), rhs = operand();
      ops.push_back(b.create<train::AddOp>(location, lhs, rhs));
      node.push_back(i);
    }
  }
  // Users go first.
  ~Graph() {
    while (!block.empty())
      block.back().erase();
  }

  /// Whether a path leaves the nodes of `a` and `b` and comes back to one of them.
  bool joinsThroughOthers(size_t a, size_t b) const {
    std::set<size_t> seen; // nodes
    std::vector<size_t> worklist;
    auto isEither = [&](size_t n) { return n == node[a] || n == node[b]; };
    auto follow = [&](size_t from) {
      for (size_t op = 0; op < ops.size(); ++op)
        if (node[op] == from)
          for (size_t reader : readers[op])
            if (!isEither(node[reader]) && seen.insert(node[reader]).second)
              worklist.push_back(node[reader]);
    };
    follow(node[a]);
    follow(node[b]);
    while (!worklist.empty()) {
      size_t next = worklist.back();
      worklist.pop_back();
      for (size_t op = 0; op < ops.size(); ++op)
        if (node[op] == next)
          for (size_t reader : readers[op])
            if (isEither(node[reader]))
              return true;
      follow(next);
    }
    return false;
  }
  void merge(size_t a, size_t b) {
    size_t from = node[b], to = node[a];
    std::replace(node.begin(), node.end(), from, to);
  }
};

TEST(ContractedOrder, AgreesWithASearchOfTheWholeGraph) {
  unsigned merged = 0, refused = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Graph graph(5 + random() % 30, random);
    ContractedOrder order(graph.block);
    for (unsigned attempt = 0; attempt < 60; ++attempt) {
      size_t a = random() % graph.ops.size(), b = random() % graph.ops.size();
      bool isFree = graph.node[a] == graph.node[b] || !graph.joinsThroughOthers(a, b);
      ASSERT_EQ(order.merge(graph.ops[a], graph.ops[b]), isFree) << "seed " << seed;
      ++(isFree ? merged : refused);
      if (isFree)
        graph.merge(a, b);
    }
  }
  EXPECT_GT(merged, 100u);
  EXPECT_GT(refused, 100u);
}

} // namespace

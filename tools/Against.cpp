//===- Against.cpp - Two precision modes, side by side --------------------===//
//
// Both modes start from one differentiated module, so their ops are the same but for casts and for
// the parts that adjoints are expanded into. They are matched by pass, node and kind, in order.
//
//===----------------------------------------------------------------------===//

#include "tools/Against.h"

#include "ir/TrainDialect.h"
#include "passes/MemoryReport.h"
#include "tools/MemorySummary.h"
#include "tools/PrecisionReport.h"
#include "tools/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace halfstep {

namespace {
/// A model in one precision mode.
struct ModeReport {
  std::string mode;
  std::vector<NodeTypes> nodes;
  std::optional<MemoryReport> memory; // where a step is planned
};

/// An op in both modes; one of them may lack it.
struct Pair {
  const NodeTypes *left, *right;
  const NodeTypes &any() const { return left ? *left : *right; }
  bool differs() const {
    return !left || !right || left->results != right->results ||
           left->operands != right->operands || left->reason != right->reason;
  }
};
} // namespace

static bool isCast(const NodeTypes &node) { return node.op == train::CastOp::getOperationName(); }

/// In the right mode's order, then what only the left one has.
static std::vector<Pair> match(const ModeReport &left, const ModeReport &right) {
  using Key = std::tuple<llvm::StringRef, llvm::StringRef, llvm::StringRef>;
  auto keyOf = [](const NodeTypes &node) { return Key(node.pass, node.node, node.op); };
  std::map<Key, std::deque<const NodeTypes *>> waiting; // of the left mode
  for (const NodeTypes &node : left.nodes)
    if (!isCast(node))
      waiting[keyOf(node)].push_back(&node);
  std::vector<Pair> pairs;
  for (const NodeTypes &node : right.nodes) {
    if (isCast(node))
      continue;
    auto &candidates = waiting[keyOf(node)];
    pairs.push_back({candidates.empty() ? nullptr : candidates.front(), &node});
    if (!candidates.empty())
      candidates.pop_front();
  }
  for (const NodeTypes &node : left.nodes)
    if (llvm::is_contained(waiting[keyOf(node)], &node))
      pairs.push_back({&node, nullptr});
  return pairs;
}

/// Bytes of results by pass, of one mode.
static std::map<std::string, uint64_t> bytesByPass(const std::vector<NodeTypes> &nodes) {
  std::map<std::string, uint64_t> bytes;
  for (const NodeTypes &node : nodes)
    if (!isCast(node))
      bytes[node.pass] += node.bytes;
  return bytes;
}

static void print(const ModeReport &left, const ModeReport &right, llvm::raw_ostream &os) {
  std::vector<TextRow> rows = {{"", "pass", "node", "op", left.mode, "", "", right.mode}};
  std::vector<Pair> pairs = match(left, right);
  std::set<std::string> passes; // in which something has differed
  size_t differing = 0;
  for (const Pair &pair : pairs) {
    const NodeTypes &any = pair.any();
    std::string mark = !pair.differs() ? "" : passes.insert(any.pass).second ? ">" : "*";
    differing += pair.differs();
    TextRow &row = rows.emplace_back();
    row = {mark, any.pass, any.node, llvm::StringRef(any.op).split('.').second.str()};
    for (const NodeTypes *node : {pair.left, pair.right}) {
      row.push_back(node ? llvm::join(node->results, ", ") : "-");
      row.push_back(node ? sizeText(node->bytes) : "");
      row.push_back(node ? node->reason : "");
    }
  }
  printTable(rows, os);
  os << '\n' << differing << " of " << pairs.size() << " ops differ\n\n";

  std::vector<TextRow> totals = {{"", left.mode, right.mode}};
  auto leftBytes = bytesByPass(left.nodes), rightBytes = bytesByPass(right.nodes);
  for (const char *pass : {"forward", "gradient"})
    if (leftBytes.count(pass) || rightBytes.count(pass))
      totals.push_back(
          {std::string("results, ") + pass, sizeText(leftBytes[pass]), sizeText(rightBytes[pass])});
  if (left.memory && right.memory) {
    for (auto [ours, theirs] : llvm::zip(left.memory->classes, right.memory->classes))
      if (ours.second || theirs.second)
        totals.push_back({"memory, " + ours.first, sizeText(ours.second), sizeText(theirs.second)});
    totals.push_back(
        {"memory", sizeText(left.memory->peakBytes), sizeText(right.memory->peakBytes)});
  }
  printTable(totals, os);
}

static void printJson(const ModeReport &left, const ModeReport &right, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("modes", [&] {
      json.value(left.mode);
      json.value(right.mode);
    });
    json.attributeArray("nodes", [&] {
      for (const Pair &pair : match(left, right))
        json.object([&] {
          auto both = [&](llvm::StringRef key, auto write) {
            json.attributeArray(key, [&] {
              for (const NodeTypes *node : {pair.left, pair.right})
                if (node)
                  write(*node);
                else
                  json.value(nullptr);
            });
          };
          json.attribute("node", llvm::json::fixUTF8(pair.any().node));
          json.attribute("op", pair.any().op);
          json.attribute("pass", pair.any().pass);
          json.attribute("differs", pair.differs());
          both("types", [&](const NodeTypes &node) {
            json.array([&] {
              for (const std::string &type : node.results)
                json.value(type);
            });
          });
          both("reasons", [&](const NodeTypes &node) { json.value(node.reason); });
          both("bytes", [&](const NodeTypes &node) { json.value(node.bytes); });
        });
    });
    if (left.memory && right.memory)
      json.attributeObject("memory", [&] {
        for (auto [ours, theirs] : llvm::zip(left.memory->classes, right.memory->classes))
          json.attributeArray(ours.first, [&, &a = ours, &b = theirs] {
            json.value(a.second);
            json.value(b.second);
          });
      });
  });
  os << '\n';
}

int compareModes(const CompileOptions &options, const std::string &other, llvm::StringRef format,
                 unsigned threads) {
  std::vector<ModeReport> reports;
  for (const std::string &mode : {options.recipe.precision, other}) {
    CompileOptions asked = options;
    asked.recipe.precision = mode;
    asked.given["--precision"] = {mode};
    Compilation compilation(asked, /*quiet=*/!reports.empty());
    if (failed(advanceToPrecision(compilation)))
      return compilation.exitCode();
    mlir::FailureOr<std::vector<NodeTypes>> nodes = typesOfNodes(compilation);
    if (failed(nodes))
      return compilation.exitCode();
    // An update is another program in each mode; what it costs shows in the memory.
    llvm::erase_if(*nodes, [](const NodeTypes &node) { return node.pass == "update"; });
    ModeReport &report = reports.emplace_back(ModeReport{mode, std::move(*nodes), std::nullopt});
    if (compilation.recipe().optimizer.empty())
      continue;
    if (failed(compilation.advance(Phase::Memory)))
      return compilation.exitCode();
    report.memory = MemoryReport::of(compilation.module(), threads);
  }
  if (format == "json")
    printJson(reports[0], reports[1], llvm::outs());
  else
    print(reports[0], reports[1], llvm::outs());
  return 0;
}

} // namespace halfstep

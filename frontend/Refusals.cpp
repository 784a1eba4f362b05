//===- Refusals.cpp - The nodes that cannot be imported, in one report ----===//

#include "frontend/Refusals.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace halfstep {

Refusals::Refusals(ArrayRef<const onnx::NodeProto *> nodes) {
  for (const onnx::NodeProto *node : nodes)
    for (const std::string &output : node->output())
      producers.try_emplace(output, node);
}

void Refusals::add(const onnx::NodeProto &node, Location loc, std::string reason, bool isMissing) {
  refusals.push_back({&node, loc, std::move(reason), isMissing});
}

/// The parameters whose gradient would pass through `node`.
std::string Refusals::parametersBehind(const onnx::NodeProto &node,
                                       const llvm::StringSet<> &parameters) const {
  std::string list;
  llvm::StringSet<> found;
  DenseSet<const onnx::NodeProto *> visited{&node};
  SmallVector<const onnx::NodeProto *> work{&node};
  while (!work.empty())
    for (const std::string &input : work.pop_back_val()->input()) {
      if (parameters.contains(input) && found.insert(input).second && found.size() <= 3)
        list += (list.empty() ? "" : ", ") + input;
      const onnx::NodeProto *producer = producers.lookup(input);
      if (producer && visited.insert(producer).second)
        work.push_back(producer);
    }
  return found.size() <= 3 ? list : list + " and " + std::to_string(found.size() - 3) + " more";
}

LogicalResult Refusals::report(Location file, const llvm::StringSet<> &parameters,
                               StringRef note) const {
  if (refusals.empty())
    return success();
  bool single = refusals.size() == 1;
  InFlightDiagnostic diag = single
                                ? emitError(refusals.front().loc) << refusals.front().reason
                                : emitError(file) << refusals.size() << " nodes cannot be imported";
  for (auto [i, refusal] : llvm::enumerate(refusals)) {
    // Each list is a walk over the graph: enough of them to see which weights are concerned.
    std::string behind = i < 100 ? parametersBehind(*refusal.node, parameters) : std::string();
    if (!single)
      diag.attachNote(refusal.loc)
          << refusal.reason << (behind.empty() ? "" : " (in front of: " + behind + ")");
    else if (!behind.empty())
      diag.attachNote() << "parameters in front of it: " << behind;
  }
  if (!note.empty())
    diag.attachNote() << note;
  if (llvm::any_of(refusals, [](const Refusal &refusal) { return refusal.isMissing; }))
    diag.attachNote() << "help: 'halfstep ops' lists what can be imported";
  return diag;
}

} // namespace halfstep

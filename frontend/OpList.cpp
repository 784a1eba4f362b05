//===- OpList.cpp - Which ONNX ops are supported, and how -----------------===//

#include "frontend/OpList.h"

#include "frontend/Fold.h"
#include "frontend/ImportRules.h"
#include "frontend/OnnxFile.h"
#include "onnx/defs/schema.h"

#include <map>

using namespace mlir;

namespace halfstep {

static std::string spelling(RuleCategory category) {
  switch (category) {
  case RuleCategory::Low:
    return "low";
  case RuleCategory::Full:
    return "full";
  case RuleCategory::Widest:
    return "widest";
  case RuleCategory::None:
    return "none";
  }
  llvm_unreachable("category");
}

/// Support of the standard op `op`, which exists since operator set `since`.
static OpSupport supportOf(StringRef op, int64_t since) {
  const ImportRule *rule = findRule(op, newestOpset());
  OpSupport support{op.str(), std::max(since, oldestOpset), newestOpset(), Support::No, false,
                    "none"};
  if (rule && !rule->constantOnly) {
    support.forward = Support::Yes;
    support.gradient = rule->differentiable;
    support.category = spelling(rule->category);
  } else if (folderOf(op)) {
    support.forward = Support::Constant;
  }
  return support;
}

/// The operator set that each standard op first appeared in.
static std::map<std::string, int64_t> firstOpsets() {
  std::map<std::string, int64_t> first;
  for (const onnx::OpSchema &schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.domain() != onnx::ONNX_DOMAIN)
      continue;
    auto [entry, isNew] = first.try_emplace(schema.Name(), schema.since_version());
    entry->second = std::min<int64_t>(entry->second, schema.since_version());
  }
  return first;
}

std::vector<OpSupport> supportedOps() {
  std::vector<OpSupport> result;
  for (const auto &[op, since] : firstOpsets())
    result.push_back(supportOf(op, since));
  return result;
}

FailureOr<std::vector<OpSupport>> opsOfModel(MLIRContext &context, StringRef path,
                                             StringRef folder) {
  ExternalData externalData(externalDataFolder(path, folder));
  FailureOr<OnnxFile> file = readOnnxFile(&context, path, externalData);
  if (failed(file))
    return failure();
  std::map<std::string, int64_t> first = firstOpsets();
  std::map<std::string, OpSupport> found;
  for (const onnx::NodeProto *node : liveNodes(file->graph())) {
    std::string name =
        isStandardOp(*node) ? node->op_type() : node->domain() + "." + node->op_type();
    auto known = isStandardOp(*node) ? first.find(name) : first.end();
    OpSupport support = known != first.end() ? supportOf(name, known->second)
                                             : OpSupport{name, 0, 0, Support::No, false, "none"};
    ++found.try_emplace(name, support).first->second.nodes;
  }
  std::vector<OpSupport> result;
  for (auto &[name, support] : found)
    result.push_back(std::move(support));
  return result;
}

} // namespace halfstep

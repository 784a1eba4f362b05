//===- ImportRules.cpp - ONNX ops in terms of train ops -------------------===//

#include "frontend/ImportRules.h"

#include "ir/TrainDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace halfstep {

ArrayRef<ImportRule> importRules() {
  static const std::vector<ImportRule> all = [] {
    std::vector<ImportRule> rules;
    for (ArrayRef<ImportRule> family :
         {elementwiseRules(), activationRules(), movementRules(), partRules(), contractionRules(),
          reductionRules(), normalisationRules(), windowRules()})
      llvm::append_range(rules, family);
    return rules;
  }();
  return all;
}

const ImportRule *findRule(StringRef op, int64_t opset) {
  const ImportRule *best = nullptr;
  for (const ImportRule &rule : importRules())
    if (rule.op == op && rule.since <= opset && (!best || best->since < rule.since))
      best = &rule;
  return best;
}

Value unrounded(Value part) {
  if (part)
    train::setCategory(part.getDefiningOp(), train::Precision::Unrounded);
  return part;
}

bool isStandardOp(const onnx::NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

} // namespace halfstep

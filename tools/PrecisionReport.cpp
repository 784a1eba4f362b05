//===- PrecisionReport.cpp - Which node computes in which type, and why ---===//

#include "tools/PrecisionReport.h"

#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/Diagnostics.h"
#include "tools/ModelSummary.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace halfstep {

/// The backward pass's ops say so in their location.
static bool isGradient(Operation *op) {
  auto fused = dyn_cast<FusedLocWith<StringAttr>>(op->getLoc());
  return fused && fused.getMetadata() == "gradient";
}

static void printTypes(llvm::json::OStream &json, llvm::StringRef key, TypeRange types) {
  json.attributeArray(key, [&] {
    for (Type type : types)
      json.value(typeText(cast<RankedTensorType>(type)));
  });
}

void printPrecisionReport(ModuleOp module, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("nodes", [&] {
      auto function = module.lookupSymbol<func::FuncOp>("micro");
      if (!function) // not trained
        function = module.lookupSymbol<func::FuncOp>("forward");
      for (Operation &op : function.front().without_terminator()) {
        if (op.hasTrait<OpTrait::ConstantLike>())
          continue;
        json.object([&] {
          json.attribute("node", llvm::json::fixUTF8(nodeNames(op.getLoc())));
          json.attribute("op", op.getName().getStringRef());
          json.attribute("pass", isGradient(&op) ? "gradient" : "forward");
          printTypes(json, "operand_types", op.getOperandTypes());
          printTypes(json, "result_types", op.getResultTypes());
          // Casts, and a file's own types, follow from the mode alone.
          auto reason = op.getAttrOfType<StringAttr>(train::attr::kReason);
          json.attribute("reason", reason ? reason.getValue() : "policy");
        });
      }
    });
  });
  os << '\n';
}

} // namespace halfstep

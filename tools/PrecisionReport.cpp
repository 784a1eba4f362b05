//===- PrecisionReport.cpp - Which node computes in which type, and why ---===//

#include "tools/PrecisionReport.h"

#include "ir/Describe.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace halfstep {

static void printTypes(llvm::json::OStream &json, llvm::StringRef key, TypeRange types) {
  json.attributeArray(key, [&] {
    for (Type type : types)
      json.value(typeText(cast<RankedTensorType>(type)));
  });
}

static void printNodes(llvm::json::OStream &json, func::FuncOp function,
                       llvm::function_ref<llvm::StringRef(Operation *)> passOf) {
  for (Operation &op : function.front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    json.object([&] {
      json.attribute("node", llvm::json::fixUTF8(nodeNames(op.getLoc())));
      json.attribute("op", op.getName().getStringRef());
      json.attribute("pass", passOf(&op));
      printTypes(json, "operand_types", op.getOperandTypes());
      printTypes(json, "result_types", op.getResultTypes());
      // Casts, a file's own types and those of the optimizer follow from the mode alone.
      auto reason = op.getAttrOfType<StringAttr>(train::attr::kReason);
      json.attribute("reason", reason ? reason.getValue() : "policy");
    });
  }
}

void printPrecisionReport(ModuleOp module, func::FuncOp update, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("nodes", [&] {
      auto function = module.lookupSymbol<func::FuncOp>("micro");
      if (!function) // not trained
        function = module.lookupSymbol<func::FuncOp>("forward");
      printNodes(json, function, [](Operation *op) -> llvm::StringRef {
        return train::isGradient(op->getLoc()) ? "gradient" : "forward";
      });
      if (update)
        printNodes(json, update, [](Operation *) { return "update"; });
    });
  });
  os << '\n';
}

} // namespace halfstep

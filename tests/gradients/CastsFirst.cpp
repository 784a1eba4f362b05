//===- CastsFirst.cpp - A step in either order of gradients and casts -----===//

#include "CastsFirst.h"
#include "Program.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Pipeline.h"
#include <gtest/gtest.h>

using namespace halfstep;

Types typesOf(mlir::ModuleOp module) {
  Types types;
  auto micro = module.lookupSymbol<mlir::func::FuncOp>("micro");
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  for (mlir::Operation &op : micro.front().without_terminator()) {
    if (auto adjoint = mlir::dyn_cast<train::AdjointOp>(op)) {
      // What reads a parameter is the mode's business, and shows in the gradient.
      if (mlir::Operation *primal = adjoint.getPrimal().getDefiningOp())
        types.adjoints[positions.lookup(primal)] = adjoint.getType();
    } else if (!train::isGradient(op.getLoc())) {
      positions[&op] = types.forward.size();
      std::string text;
      llvm::raw_string_ostream os(text);
      os << op.getName() << " " << op.getOperandTypes() << " -> " << op.getResultTypes();
      types.forward.push_back(text);
    }
  }
  for (unsigned i = 0; i < micro.getNumResults(); ++i)
    if (auto name = micro.getResultAttrOfType<mlir::StringAttr>(i, train::attr::kGradient))
      types.gradients[name.str()] = micro.getResultTypes()[i];
  return types;
}

mlir::OwningOpRef<mlir::ModuleOp> differentiate(mlir::MLIRContext &context,
                                                const std::string &source, const Recipe &recipe,
                                                bool castsFirst) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (castsFirst) {
    EXPECT_TRUE(succeeded(differentiateAfterCasts(*module, recipe)));
    return module;
  }
  mlir::PassManager pm(&context);
  pm.addPass(createAssignPrecisionPass({recipe.precision, recipe.halfType, recipe.pin}));
  pm.addPass(mlir::createCSEPass());
  EXPECT_TRUE(succeeded(runPhases(*module, recipe, Phase::Grad)) && succeeded(pm.run(*module)));
  return module;
}

/// Moves what `value` is computed from in front of `end`, operands first.
static void moveBefore(mlir::Operation *end, mlir::Value value,
                       llvm::DenseSet<mlir::Operation *> &moved) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !moved.insert(op).second)
    return;
  for (mlir::Value operand : op->getOperands())
    moveBefore(end, operand, moved);
  op->moveBefore(end);
}

std::string computationOf(mlir::ModuleOp module) {
  mlir::PassManager pm(module.getContext());
  pm.addPass(createExpandAdjointsPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  EXPECT_TRUE(succeeded(pm.run(module)));
  auto micro = module.lookupSymbol<mlir::func::FuncOp>("micro");
  micro.walk([](mlir::Operation *op) {
    op->removeDiscardableAttr(train::attr::kReason);
    op->removeDiscardableAttr(train::attr::kCategory);
  });
  mlir::Operation *terminator = micro.front().getTerminator();
  llvm::DenseSet<mlir::Operation *> moved;
  for (mlir::Value result : terminator->getOperands())
    moveBefore(terminator, result, moved);
  std::string text;
  llvm::raw_string_ostream os(text);
  micro.print(os);
  return text;
}

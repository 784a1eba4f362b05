//===- halfstep-lsp-server.cpp - Editor support for phase dumps -----------===//
//
// Definitions, hover texts and diagnostics of our dialects in any editor that speaks the language
// server protocol.
//
//===----------------------------------------------------------------------===//

#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<halfstep::train::TrainDialect, halfstep::kernel::KernelDialect,
                  halfstep::table::TableDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

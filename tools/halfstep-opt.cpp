//===- halfstep-opt.cpp - MLIR's stock driver with our passes -------------===//
//
//   halfstep-opt 05-kernels.mlir --plan-memory --verify-phase=phase=memory
//   halfstep-opt 01-import.mlir --phase-grad=loss=mse
//
// Of MLIR's own passes only those that make sense on our dialects are here.
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<halfstep::train::TrainDialect, halfstep::kernel::KernelDialect,
                  halfstep::table::TableDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect>();
  halfstep::registerPassesAndPhases();
  halfstep::codegen::registerCodegenPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "halfstep's passes, one by one\n", registry));
}

//===- Passes.cpp - code generation, step by step ------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/EmitCpu.h"
#include "codegen/LowerToLlvm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace halfstep::codegen {
#define GEN_PASS_DEF_EMITCPUKERNELSPASS
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "codegen/Passes.h.inc"
} // namespace halfstep::codegen

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

namespace {
struct EmitCpuKernels : halfstep::codegen::impl::EmitCpuKernelsPassBase<EmitCpuKernels> {
  void runOnOperation() override {
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody())) {
      auto group = dyn_cast<kernel::GroupOp>(op);
      auto contract = dyn_cast<kernel::ContractOp>(op);
      if (!group && !contract)
        continue;
      OpBuilder builder(&op);
      FailureOr<Work> work =
          group ? emitCpuKernel(builder, group) : emitCpuKernel(builder, contract);
      if (failed(work))
        return signalPassFailure();
      Operation *function = op.getPrevNode();
      function->setAttr("units", builder.getI64IntegerAttr(work->units));
      function->setAttr("grain", builder.getI64IntegerAttr(work->grain));
      op.erase();
    }
  }
};

struct LowerKernels : halfstep::codegen::impl::LowerKernelsPassBase<LowerKernels> {
  void runOnOperation() override {
    if (failed(lowerToLlvm(getOperation())))
      signalPassFailure();
  }
};
} // namespace

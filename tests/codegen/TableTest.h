//===- TableTest.h - Planned modules, written by hand ---------------------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_TABLETEST_H
#define HALFSTEP_TESTS_CODEGEN_TABLETEST_H

#include "codegen/Codegen.h"
#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
#include "runtime/Payload.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

inline const char *const planned = R"mlir(
module attributes {halfstep.phase = "memory", halfstep.recipe = "{\"loss\": \"mse\"}",
                   halfstep.graph_hash = "00ff", halfstep.state_bytes = 256 : i64,
                   halfstep.arena_bytes = 192 : i64, halfstep.scratch_bytes = 8192 : i64,
                   halfstep.input_slots = 3 : i64, halfstep.micro_batches = 2 : i64} {
  table.tensor label "label" : tensor<2xi64> {classCount = 10 : i64, slice = #table.slice<3, 0, 16>}
  table.tensor input "x" : tensor<2x3xf32> {slice = #table.slice<2, 0, 24>}
  table.tensor parameter "w" : tensor<3x4xf32> {trainable, slice = #table.slice<0, 64, 48>}
  table.tensor hyperparameter "lr" : tensor<f64> in below_one {initial = 2.500000e-01 : f64, slice = #table.slice<0, 0, 8>}

  kernel.group @double [8](%x: f32[1]) -> (%x) {
    %y = arith.addf %x, %x : f32
    kernel.yield %y : f32
  }
  kernel.group @also_double [8](%x: f32[1]) -> (%x) {
    %y = arith.addf %x, %x : f32
    kernel.yield %y : f32
  }
  kernel.group @unused [8](%x: f32[1]) -> (f32[1]) {
    kernel.yield %x : f32
  }
  kernel.contract @product [1, 2, 4, 3] f32 (a[0, 3, 1], b[0, 4, 1]) -> c[0, 4, 1]

  func.func @micro(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) {
    %c = table.launch @product(%x, %w) {slices = [#table.slice<2, 0, 24>, #table.slice<0, 64, 48>, #table.slice<1, 0, 32>]}
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> loc(fused["fc/MatMul", "fc/Add"])
    %flat = table.alias %c : (tensor<2x4xf32>) -> tensor<8xf32>
    %d = table.launch @double(%flat) {slices = [#table.slice<1, 0, 32>, #table.slice<1, 0, 32>]}
      : (tensor<8xf32>) -> tensor<8xf32>
    %e = table.launch @also_double(%d) {slices = [#table.slice<1, 0, 32>, #table.slice<1, 0, 32>]}
      : (tensor<8xf32>) -> tensor<8xf32>
    %z = table.zero {slices = [#table.slice<1, 64, 32>]} : tensor<8xf32>
    %copy = table.copy %e {slices = [#table.slice<1, 0, 32>, #table.slice<1, 128, 32>]}
      : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
  func.func @infer(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) {
    %c = table.gemm %x, %w {transB, slices = [#table.slice<2, 0, 120>, #table.slice<0, 64, 48>, #table.slice<1, 0, 160>]}
      : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
    %d = table.gemm %x, %w, %b {transB, slices = [#table.slice<2, 0, 120>, #table.slice<0, 64, 48>, #table.slice<0, 128, 16>, #table.slice<1, 0, 160>]}
      : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
    return
  }
}
)mlir";

/// A module of `functions`, with enough memory.
inline std::string withSizes(const std::string &functions) {
  return R"mlir(module attributes {
  halfstep.arena_bytes = 8192 : i64, halfstep.graph_hash = "", halfstep.input_slots = 2 : i64,
  halfstep.micro_batches = 1 : i64, halfstep.recipe = "{}", halfstep.scratch_bytes = 0 : i64,
  halfstep.state_bytes = 8192 : i64
} {
)mlir" + functions +
         "}";
}

/// While this lives, there is no folder for temporary files.
class NoTemporaryFiles {
public:
  NoTemporaryFiles() {
    if (const char *folder = std::getenv("TMPDIR"))
      before = folder;
    setenv("TMPDIR", "/nowhere", /*overwrite=*/1);
  }
  ~NoTemporaryFiles() {
    if (before.empty())
      unsetenv("TMPDIR");
    else
      setenv("TMPDIR", before.c_str(), 1);
  }

private:
  std::string before;
};

class TableTest : public testing::Test {
protected:
  TableTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect, kernel::KernelDialect,
                        math::MathDialect, table::TableDialect>();
  }
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  /// The compiled module, as the runtime has it; null if it does not compile.
  std::shared_ptr<const runtime::Artefact> load(OwningOpRef<ModuleOp> module) {
    if (!module)
      return nullptr;
    FailureOr<CompiledArtefact> compiled = compileModule(*module, target);
    if (failed(compiled))
      return nullptr;
    return runtime::Artefact::load("test", compiled->sharedObject);
  }
  CpuTarget target = llvm::cantFail(CpuTarget::get("native"));
  MLIRContext context;
};

#endif

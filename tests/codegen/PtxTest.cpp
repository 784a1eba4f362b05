//===- PtxTest.cpp - PTX of every form of kernel, as ptxas takes it -------------------------===//
//
// What ptxas reports is part of a kernel's quality: no register is spilled to memory, and what a
// memory-bound kernel reads and writes goes by 128 bits where strides allow.
//
//===---------------------------------------------------------------------------------------===//

#include "GroupCases.h"
#include "Ptxas.h"

#include "codegen/LowerToLlvm.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep::codegen;
using namespace halfstep::kernel;
using namespace halfstep::tests;

/// The PTX of the groups of `text`, long reductions split.
static std::string ptxOf(const std::string &text, const std::string &architecture) {
  MLIRContext context;
  loadKernelDialects(context);
  context.loadDialect<KernelDialect>();
  OwningOpRef<ModuleOp> groups = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(groups) << text;
  for (auto group : llvm::make_early_inc_range(groups->getOps<GroupOp>()))
    splitReduction(group);
  OwningOpRef<ModuleOp> code = ModuleOp::create(groups->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  llvm::StringMap<Grid> grids;
  for (auto group : groups->getOps<GroupOp>()) {
    FailureOr<Grid> grid = emitCudaKernel(builder, group);
    EXPECT_TRUE(succeeded(grid));
    grids[group.getSymName()] = *grid;
  }
  return ptxOf(*code, grids, architecture);
}

/// Below the 255 of a thread, which a block on its own may use: nothing is spilled for want of
/// registers. What ptxas reports as spilled all the
/// same is saved around the subroutine that a division calls for subnormal numbers.
static constexpr unsigned mostRegisters = 250;

class PtxTest : public testing::TestWithParam<GroupCase> {};

TEST_P(PtxTest, IsAssembledWithFewRegisters) {
  for (const std::string &type : GetParam().types)
    for (std::string architecture : {"sm_80", "sm_90"}) {
      SCOPED_TRACE(type + " " + architecture);
      std::string report =
          assemble(ptxOf(GetParam().instantiate(type), architecture), architecture);
      EXPECT_LE(largest(report, "Used "), mostRegisters) << report;
    }
}

INSTANTIATE_TEST_SUITE_P(Groups, PtxTest, testing::ValuesIn(groupCases()),
                         [](const testing::TestParamInfo<GroupCase> &info) {
                           return std::string(info.param.name);
                         });

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
#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep::codegen;
using namespace halfstep::kernel;
using namespace halfstep::tests;

namespace {
/// The groups of a text, long reductions split, as kernels.
struct Kernels {
  explicit Kernels(const std::string &text) {
    loadKernelDialects(context);
    context.loadDialect<KernelDialect>();
    OwningOpRef<ModuleOp> groups = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(groups) << text;
    for (auto group : llvm::make_early_inc_range(groups->getOps<GroupOp>()))
      splitReduction(group);
    code = ModuleOp::create(groups->getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
    for (auto group : groups->getOps<GroupOp>()) {
      FailureOr<Grid> grid = emitCudaKernel(builder, group);
      EXPECT_TRUE(succeeded(grid));
      grids[group.getSymName()] = *grid;
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> code;
  llvm::StringMap<Grid> grids;
};

class PtxTest : public testing::TestWithParam<GroupCase> {};
} // namespace

TEST_P(PtxTest, IsAssembledWithoutSpills) {
  for (const std::string &type : GetParam().types)
    for (std::string architecture : {"sm_80", "sm_90"}) {
      Kernels kernels(GetParam().instantiate(type));
      std::string ptx = ptxOf(*kernels.code, kernels.grids, architecture);
      // Around the subroutine that divides subnormal numbers, ptxas saves what the caller needs.
      bool hasSubroutine = StringRef(ptx).contains("div.rn") || StringRef(ptx).contains("sqrt.rn");
      for (const auto &kernel : resourcesOf(ptx, architecture)) {
        SCOPED_TRACE(kernel.getKey().str() + " " + type + " " + architecture);
        // A block on its own has all 255 that a thread can have.
        if (kernels.grids.lookup(kernel.getKey()).blocks > 1)
          EXPECT_LE(kernel.getValue().registers, 192u);
        if (!hasSubroutine)
          EXPECT_EQ(kernel.getValue().spillBytes, 0u);
        EXPECT_LE(kernel.getValue().sharedBytes, 48u << 10);
      }
    }
}

/// Accesses of global memory that are narrower than 128 bits.
static std::vector<std::string> narrowAccesses(const std::string &ptx) {
  std::vector<std::string> narrow;
  for (StringRef line : llvm::split(StringRef(ptx), '\n')) {
    StringRef instruction = line.trim().take_until([](char c) { return isspace(c); });
    if (!instruction.starts_with("ld.global") && !instruction.starts_with("st.global"))
      continue;
    unsigned count = 1, bits = 0;
    for (StringRef part : llvm::split(instruction, '.'))
      if (part.consume_front("v"))
        part.getAsInteger(10, count);
      else if (part.ltrim("bfus").size() < part.size())
        part.ltrim("bfus").getAsInteger(10, bits);
    if (count * bits < 128)
      narrow.push_back(line.trim().str());
  }
  return narrow;
}

/// Rows of sizes that 128 bits divide are read and written 128 bits at a time, whatever the form.
TEST(WideAccessTest, EveryAccessHas128Bits) {
  for (StringRef name : {"add_bias_relu", "softmax"})
    for (StringRef type : {"f32", "f64", "f16", "bf16"}) {
      SCOPED_TRACE((name + " " + type).str());
      GroupCase groupCase =
          *llvm::find_if(groupCases(), [&](const GroupCase &one) { return one.name == name; });
      groupCase.sizes = {{64, 1024}};
      Kernels kernels(groupCase.instantiate(type.str()));
      EXPECT_EQ(narrowAccesses(ptxOf(*kernels.code, kernels.grids, "sm_80")),
                std::vector<std::string>());
    }
}

INSTANTIATE_TEST_SUITE_P(Groups, PtxTest, testing::ValuesIn(groupCases()),
                         [](const testing::TestParamInfo<GroupCase> &info) {
                           return std::string(info.param.name);
                         });

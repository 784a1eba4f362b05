//===- PtxTest.cpp - PTX of every form of kernel, as ptxas takes it -------------------------===//
//
// What ptxas reports is part of a kernel's quality: no register is spilled to memory, and what a
// memory-bound kernel reads and writes goes by 128 bits where strides allow.
//
//===---------------------------------------------------------------------------------------===//

#include "GroupCases.h"

#include "codegen/EmitCuda.h"
#include "codegen/LowerToLlvm.h"
#include "codegen/Ptx.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

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
  llvm::LLVMContext llvmContext;
  auto module = translateToLlvmIr(*code, llvmContext, Functions::Libdevice);
  EXPECT_TRUE(module) << text;
  CudaTarget target = llvm::cantFail(CudaTarget::get(architecture));
  llvm::cantFail(finishKernels(*module, grids, target));
  return emitPtx(*module, target);
}

/// What ptxas says about PTX; a failure if it refuses it.
static std::string assemble(const std::string &ptx, const std::string &architecture) {
  llvm::SmallString<64> source, report;
  llvm::sys::fs::createTemporaryFile("kernels", "ptx", source);
  llvm::sys::fs::createTemporaryFile("ptxas", "txt", report);
  std::error_code error;
  llvm::raw_fd_ostream(source, error) << ptx;
  std::string arch = "-arch=" + architecture;
  llvm::StringRef arguments[] = {HALFSTEP_PTXAS, "-v", arch, source, "-o", "/dev/null"};
  std::string problem;
  int status =
      llvm::sys::ExecuteAndWait(HALFSTEP_PTXAS, arguments, std::nullopt,
                                {std::nullopt, report.str(), report.str()}, 0, 0, &problem);
  auto text = llvm::MemoryBuffer::getFile(report);
  EXPECT_EQ(status, 0) << problem << (*text)->getBuffer().str().substr(0, 2000) << "\n"
                       << source.c_str();
  if (status == 0)
    llvm::sys::fs::remove(source);
  llvm::sys::fs::remove(report);
  return (*text)->getBuffer().str();
}

/// Well below 255: nothing is spilled for want of registers. What ptxas reports as spilled all the
/// same is saved around the subroutine that a division calls for subnormal numbers.
static constexpr unsigned mostRegisters = 192;

class PtxTest : public testing::TestWithParam<GroupCase> {};

TEST_P(PtxTest, IsAssembledWithFewRegisters) {
  for (const std::string &type : GetParam().types)
    for (std::string architecture : {"sm_80", "sm_90"}) {
      SCOPED_TRACE(type + " " + architecture);
      std::string report =
          assemble(ptxOf(GetParam().instantiate(type), architecture), architecture);
      for (llvm::StringRef rest = report, line; !rest.empty();) {
        std::tie(line, rest) = rest.split('\n');
        llvm::StringRef count = line.split("Used ").second;
        unsigned registers = 0;
        if (!count.consumeInteger(10, registers))
          EXPECT_LE(registers, mostRegisters) << report;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Groups, PtxTest, testing::ValuesIn(groupCases()),
                         [](const testing::TestParamInfo<GroupCase> &info) {
                           return std::string(info.param.name);
                         });

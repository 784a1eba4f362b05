//===- FusedConvPtxTest.cpp - PTX of convolutions with loss and gradient --------------------===//

#include "FusedConvCases.h"
#include "Ptxas.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::tests;

namespace {
class FusedConvPtxTest : public testing::TestWithParam<FusedConvCase> {};
} // namespace

TEST_P(FusedConvPtxTest, IsAssembledWithoutSpills) {
  for (std::string architecture : {"sm_80", "sm_90"}) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = programOf(GetParam(), /*fuse=*/true, context);
    OwningOpRef<ModuleOp> code = ModuleOp::create(program->getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
    llvm::StringMap<codegen::Grid> grids;
    program->walk([&](table::FusedConvOp conv) {
      auto group = program->lookupSymbol<kernel::GroupOp>(conv.getKernel());
      grids["fused"] = *codegen::emitCudaKernel(builder, conv, group, "fused");
    });
    codegen::KernelResources resources =
        resourcesOf(ptxOf(*code, grids, architecture), architecture).lookup("fused");
    EXPECT_EQ(resources.spillBytes, 0u);
    EXPECT_GT(resources.registers, 0u);
    EXPECT_LE(resources.sharedBytes, 48u << 10);
  }
}

/// Images whose offsets take more registers; emulated they would take minutes.
static FusedConvCase largeImages(bool hasGradient) {
  FusedConvCase fused{
      hasGradient ? "largeImages" : "largeImagesLossAlone", 40, 3, 64, {555, 555}, {3, 3}};
  fused.pads = {1, 1, 1, 1};
  fused.hasGradient = hasGradient;
  return fused;
}

INSTANTIATE_TEST_SUITE_P(LargeImages, FusedConvPtxTest,
                         testing::Values(largeImages(true), largeImages(false)),
                         [](const testing::TestParamInfo<FusedConvCase> &info) {
                           return std::string(info.param.name);
                         });
INSTANTIATE_TEST_SUITE_P(Convolutions, FusedConvPtxTest, testing::ValuesIn(fusedConvCases()),
                         [](const testing::TestParamInfo<FusedConvCase> &info) {
                           return std::string(info.param.name);
                         });

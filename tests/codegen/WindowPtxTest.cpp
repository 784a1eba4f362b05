//===- WindowPtxTest.cpp - PTX of convolutions and poolings, as ptxas takes it --------------===//

#include "Ptxas.h"
#include "WindowCases.h"

#include "codegen/LowerToLlvm.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::tests;

namespace {
class WindowPtxTest : public testing::TestWithParam<WindowCase> {};
} // namespace

TEST_P(WindowPtxTest, IsAssembledWithoutSpills) {
  for (std::string architecture : {"sm_80", "sm_90"}) {
    MLIRContext context;
    codegen::loadKernelDialects(context);
    OwningOpRef<ModuleOp> entries = entriesOf(GetParam(), context);
    OwningOpRef<ModuleOp> code = ModuleOp::create(entries->getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
    llvm::StringMap<codegen::Grid> grids;
    entries->walk([&](Operation *entry) {
      if (!isa<table::ConvOp, table::PoolOp>(entry))
        return;
      std::string name = "entry" + std::to_string(grids.size());
      grids[name] = *emitEntry(builder, entry, name);
    });
    for (const auto &kernel : resourcesOf(ptxOf(*code, grids, architecture), architecture)) {
      SCOPED_TRACE(kernel.getKey().str() + " " + architecture);
      EXPECT_LE(kernel.getValue().registers, 232u); // of 255: warps of 64x64 have 128 sums
      // ptxas keeps two numbers of the scan through a 3-d window in memory, rather than let fewer
      // blocks run at a time.
      bool isCube = GetParam().input.size() == 3;
      EXPECT_LE(kernel.getValue().spillBytes, isCube ? 16u : 0u);
      EXPECT_LE(kernel.getValue().sharedBytes, 48u << 10);
    }
  }
}

/// One case for each number of dimensions, size of tile, and way that a window moves.
static std::vector<WindowCase> someCases() {
  std::vector<WindowCase> some;
  for (const WindowCase &window : windowCases())
    if (llvm::is_contained({"row", "square", "cube", "dilated", "depthwise", "manyRows", "eights",
                            "eightsCube", "eightsStrided", "eightsWide"},
                           llvm::StringRef(window.name)))
      some.push_back(window);
  return some;
}

INSTANTIATE_TEST_SUITE_P(Windows, WindowPtxTest, testing::ValuesIn(someCases()),
                         [](const testing::TestParamInfo<WindowCase> &info) {
                           return std::string(info.param.name);
                         });

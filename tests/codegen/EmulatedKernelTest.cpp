//===- EmulatedKernelTest.cpp - CUDA kernels give the CPU's bits ----------------------------===//
//
// Every group, as a grid kernel on the emulator, which checks each access, in several orders of
// blocks and warps, against the CPU's kernel: with the same polynomials the bits are the same.
//
//===---------------------------------------------------------------------------------------===//

#include "EmulatedModule.h"
#include "GroupCases.h"
#include "Reference.h"

#include "codegen/RetargetToHost.h"
#include "runtime/Error.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;
using namespace halfstep::kernel;
using namespace halfstep::tests;

namespace {
/// The kernels of a module as grids, in this process.
class EmulatedLibrary {
public:
  explicit EmulatedLibrary(ModuleOp parsed) { load(parsed); }

  /// Runs a group on its buffers, in one or two kernels.
  void run(GroupOp group, Buffers &buffers, uint64_t seed);

private:
  void load(ModuleOp parsed);

  OwningOpRef<ModuleOp> split;
  std::map<std::string, SplitReduction> splits;
  EmulatedModule kernels;
};
} // namespace

void EmulatedLibrary::load(ModuleOp parsed) {
  split = parsed.clone();
  for (auto group : llvm::make_early_inc_range(split->getOps<GroupOp>())) {
    std::string name = group.getSymName().str();
    if (std::optional<SplitReduction> parts = splitReduction(group))
      splits[name] = *parts;
  }
  OwningOpRef<ModuleOp> code = ModuleOp::create(parsed.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  llvm::StringMap<Grid> grids;
  for (auto group : split->getOps<GroupOp>()) {
    FailureOr<Grid> grid = emitCudaKernel(builder, group);
    ASSERT_TRUE(succeeded(grid));
    grids[group.getSymName()] = *grid;
  }
  kernels.load(*code, std::move(grids));
}

void EmulatedLibrary::run(GroupOp group, Buffers &buffers, uint64_t seed) {
  runtime::DeviceMemory memory;
  runtime::GridRun device(memory, seed);
  unsigned arguments = group.getBlock().getNumArguments();
  SmallVector<void *> addresses;
  for (auto [i, buffer] : llvm::enumerate(buffers))
    addresses.push_back(toDevice(memory, buffer, i < arguments));
  std::string name = group.getSymName().str();
  if (!splits.count(name)) {
    kernels.launch(name, addresses, device);
  } else {
    SplitReduction &parts = splits[name];
    SmallVector<void *> partial, final;
    for (unsigned i : parts.partialArguments)
      partial.push_back(addresses[i]);
    for (unsigned i = 0; i < parts.partialValues; ++i) {
      std::vector<char> bytes(extentOf(parts.final, i) * bytesOf(parts.final.getStorageType(i)));
      partial.push_back(toDevice(memory, bytes, false));
      final.push_back(partial.back());
    }
    auto addResults = [&](ArrayRef<unsigned> results, SmallVector<void *> &to) {
      for (unsigned i : results)
        if (group.getOuts()[i] >= int64_t(arguments))
          to.push_back(addresses[group.getOuts()[i]]);
    };
    addResults(parts.partialResults, partial);
    for (unsigned i : parts.finalArguments)
      final.push_back(addresses[i]);
    addResults(parts.finalResults, final);
    kernels.launch(parts.partial.getSymName(), partial, device);
    kernels.launch(parts.final.getSymName(), final, device);
  }
  for (auto [buffer, address] : llvm::zip(buffers, addresses))
    std::memcpy(buffer.data(), address, buffer.size());
}

class EmulatedKernelTest : public testing::TestWithParam<GroupCase> {};

TEST_P(EmulatedKernelTest, GivesTheBitsOfTheCpu) {
  for (const std::string &type : GetParam().types) {
    SCOPED_TRACE(type);
    Library library(GetParam().instantiate(type));
    if (HasFatalFailure())
      return;
    EmulatedLibrary emulated(library.module());
    if (HasFatalFailure())
      return;
    for (auto group : library.module().getOps<GroupOp>()) {
      SCOPED_TRACE(group.getSymName().str());
      std::mt19937 random(7);
      Buffers onCpu = randomBuffers(group, random), buffers = onCpu;
      library.run(group, onCpu);
      for (uint64_t seed : {1, 2}) {
        Buffers onDevice = buffers;
        try {
          emulated.run(group, onDevice, seed);
        } catch (const runtime::Error &error) {
          FAIL() << error.what();
        }
        ASSERT_TRUE(onCpu == onDevice) << "seed " << seed;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, EmulatedKernelTest, testing::ValuesIn(groupCases()),
                         [](const testing::TestParamInfo<GroupCase> &info) {
                           return std::string(info.param.name);
                         });

TEST(RetargetToHostDeathTest, KnowsItsIntrinsics) {
  MLIRContext context;
  context.loadDialect<LLVM::LLVMDialect>();
  auto module = parseSourceString<ModuleOp>(R"mlir(
    llvm.func @kernel(%x: !llvm.ptr) {
      llvm.call_intrinsic "llvm.nvvm.barrier0"() : () -> ()
      llvm.return
    })mlir",
                                            &context);
  ASSERT_TRUE(module);
  EXPECT_DEATH(retargetToHost(*module), "an intrinsic that is not emulated: llvm.nvvm.barrier0");
}

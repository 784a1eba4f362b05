//===- EmulatedModule.cpp - grid kernels in this process ------------------------------------===//

#include "EmulatedModule.h"

#include "codegen/CpuTarget.h"
#include "codegen/CudaGroupEmitter.h"
#include "codegen/Link.h"
#include "codegen/LowerToLlvm.h"
#include "codegen/RetargetToHost.h"

#include "mlir/Target/LLVMIR/Export.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;
using namespace halfstep::tests;

void EmulatedModule::load(ModuleOp code, llvm::StringMap<Grid> grids) {
  ASSERT_TRUE(succeeded(lowerToLlvm(code, Functions::Portable)));
  retargetToHost(code);
  for (auto &[name, grid] : grids) {
    auto sharedBytes = code.lookupSymbol(name)->getAttrOfType<IntegerAttr>("shared_bytes");
    EXPECT_LE(sharedBytes.getInt(), mostSharedBytes) << name.str();
    functions[name] = {grid, uint64_t(sharedBytes.getInt()), nullptr};
  }
  llvm::LLVMContext context;
  auto module = translateModuleToLLVMIR(code, context, "emulated");
  ASSERT_TRUE(module);
  CpuTarget target = llvm::cantFail(CpuTarget::get("native"));
  optimise(*module, target);
  llvm::Expected<std::string> bytes = linkShared(emitObject(*module, target));
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  object = LoadedObject(*bytes);
  ASSERT_TRUE(bool(object));
  for (auto &function : functions)
    function.second.kernel = reinterpret_cast<hs_emulated_kernel>(object.symbol(function.first()));
}

void EmulatedModule::launch(llvm::StringRef name, ArrayRef<void *> addresses,
                            runtime::GridRun &device) const {
  const Function &function = functions.find(name)->second;
  std::string terminated = name.str();
  device.run({terminated.c_str(), function.kernel, function.sharedBytes, nullptr, nullptr},
             {addresses.begin(), addresses.end()}, function.grid.blocks, function.grid.threads);
}

void *halfstep::tests::toDevice(runtime::DeviceMemory &memory, ArrayRef<char> bytes,
                                bool isWritten) {
  void *address = memory.allocate(bytes.size());
  std::memcpy(address, bytes.data(), bytes.size());
  if (isWritten)
    memory.markWritten(address, bytes.size());
  return address;
}

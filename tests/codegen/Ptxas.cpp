//===- Ptxas.cpp - emitted kernels as PTX, and what ptxas makes of it -----------------------===//

#include "Ptxas.h"

#include "codegen/LowerToLlvm.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

std::string tests::ptxOf(ModuleOp code, const llvm::StringMap<Grid> &grids,
                         const std::string &architecture) {
  llvm::LLVMContext llvmContext;
  auto module = translateToLlvmIr(code, llvmContext, Functions::Libdevice);
  EXPECT_TRUE(module);
  CudaTarget target = llvm::cantFail(CudaTarget::get(architecture));
  llvm::cantFail(finishKernels(*module, grids, target));
  return emitPtx(*module, target);
}

llvm::StringMap<KernelResources> tests::resourcesOf(const std::string &ptx,
                                                    const std::string &architecture) {
  llvm::Expected<Assembled> assembled =
      assemble(ptx, llvm::cantFail(CudaTarget::get(architecture)));
  if (assembled)
    return std::move(assembled->resources);
  ADD_FAILURE() << llvm::toString(assembled.takeError()) << "\n" << ptx;
  return {};
}

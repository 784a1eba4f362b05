//===- Ptxas.cpp - what ptxas says about kernels --------------------------------------------===//

#include "Ptxas.h"

#include "codegen/LowerToLlvm.h"
#include "codegen/Ptx.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

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

std::string tests::assemble(const std::string &ptx, const std::string &architecture) {
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

unsigned tests::largest(llvm::StringRef report, llvm::StringRef what) {
  unsigned most = 0;
  for (llvm::StringRef rest = report.split(what).second; !rest.empty();
       rest = rest.split(what).second) {
    unsigned number = 0;
    llvm::StringRef(rest.ltrim()).consumeInteger(10, number);
    most = std::max(most, number);
  }
  return most;
}

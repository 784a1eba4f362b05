//===- Harness.cpp - compiled kernels, called as the runtime calls them ---------------------===//

#include "Harness.h"

#include "codegen/CpuTarget.h"
#include "codegen/Link.h"
#include "codegen/LowerToLlvm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace halfstep::codegen;
using namespace halfstep::tests;

void Kernel::run(Buffers &buffers, int64_t pieces) const {
  std::vector<void *> pointers;
  for (auto &buffer : buffers)
    pointers.push_back(buffer.data());
  for (int64_t piece = pieces; piece-- > 0;)
    function(pointers.data(), work.units * piece / pieces, work.units * (piece + 1) / pieces);
}

Library::Library(const std::string &text, const std::string &cpu) { load(text, cpu); }

void Library::load(const std::string &text, const std::string &cpu) {
  loadKernelDialects(context);
  context.loadDialect<halfstep::kernel::KernelDialect>();
  parsed = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(parsed) << text;
  for (auto group : llvm::make_early_inc_range(parsed->getOps<halfstep::kernel::GroupOp>()))
    halfstep::kernel::splitReduction(group);

  OwningOpRef<ModuleOp> code = ModuleOp::create(parsed->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  for (Operation &op : *parsed->getBody()) {
    FailureOr<Work> work = failure();
    if (auto group = dyn_cast<halfstep::kernel::GroupOp>(op))
      work = emitCpuKernel(builder, group);
    else
      work = emitCpuKernel(builder, cast<halfstep::kernel::ContractOp>(op));
    ASSERT_TRUE(succeeded(work)) << text;
    kernels[SymbolTable::getSymbolName(&op).str()].work = *work;
  }
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translateToLlvmIr(*code, llvmContext);
  ASSERT_TRUE(module) << text;
  CpuTarget target = llvm::cantFail(CpuTarget::get(cpu));
  optimise(*module, target);
  llvm::Expected<std::string> object = linkShared(emitObject(*module, target));
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());

  int file = memfd_create("kernels", 0);
  ASSERT_EQ(write(file, object->data(), object->size()), ssize_t(object->size()));
  handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
  ASSERT_TRUE(handle) << dlerror();
  close(file);
  for (auto &[name, kernel] : kernels)
    kernel.function = reinterpret_cast<hs_kernel>(dlsym(handle, name.c_str()));
}

Library::~Library() {
  if (handle)
    dlclose(handle);
}

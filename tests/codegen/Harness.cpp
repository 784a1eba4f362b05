//===- Harness.cpp - compiled kernels, called as the runtime calls them ---------------------===//

#include "Harness.h"
#include "Reference.h"

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
using namespace halfstep::kernel;
using namespace halfstep::tests;

void Kernel::run(ArrayRef<void *> addresses, int64_t pieces) const {
  for (int64_t piece = pieces; piece-- > 0;)
    function(addresses.data(), work.units * piece / pieces, work.units * (piece + 1) / pieces);
}

void Library::run(GroupOp group, Buffers &buffers, int64_t pieces) {
  SmallVector<void *> addresses;
  for (auto &buffer : buffers)
    addresses.push_back(buffer.data());
  std::string name = group.getSymName().str();
  if (!splits.count(name))
    return kernels[name].run(addresses, pieces);

  SplitReduction &split = splits[name];
  Buffers partials;
  for (unsigned i = 0; i < split.partialValues; ++i)
    partials.emplace_back(extentOf(split.final, i) * bytesOf(split.final.getStorageType(i)));
  SmallVector<void *> partialAddresses, finalAddresses;
  auto addResults = [&](ArrayRef<unsigned> results, SmallVector<void *> &to) {
    for (unsigned i : results)
      if (group.getOuts()[i] >= int64_t(group.getBlock().getNumArguments()))
        to.push_back(addresses[group.getOuts()[i]]);
  };
  for (unsigned i : split.partialArguments)
    partialAddresses.push_back(addresses[i]);
  for (auto &partial : partials) {
    partialAddresses.push_back(partial.data());
    finalAddresses.push_back(partial.data());
  }
  addResults(split.partialResults, partialAddresses);
  for (unsigned i : split.finalArguments)
    finalAddresses.push_back(addresses[i]);
  addResults(split.finalResults, finalAddresses);
  kernels[split.partial.getSymName().str()].run(partialAddresses, pieces);
  kernels[split.final.getSymName().str()].run(finalAddresses, pieces);
}

Library::Library(const std::string &text, const std::string &cpu) { load(text, cpu); }

void Library::load(const std::string &text, const std::string &cpu) {
  loadKernelDialects(context);
  context.loadDialect<KernelDialect>();
  parsed = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(parsed) << text;
  split = parsed->clone();
  for (auto group : llvm::make_early_inc_range(split->getOps<GroupOp>())) {
    std::string name = group.getSymName().str();
    if (std::optional<SplitReduction> parts = splitReduction(group))
      splits[name] = *parts;
  }

  OwningOpRef<ModuleOp> code = ModuleOp::create(parsed->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  for (Operation &op : *split->getBody()) {
    FailureOr<Work> work = failure();
    if (auto group = dyn_cast<GroupOp>(op))
      work = emitCpuKernel(builder, group);
    else
      work = emitCpuKernel(builder, cast<ContractOp>(op));
    ASSERT_TRUE(succeeded(work)) << text;
    kernels[SymbolTable::getSymbolName(&op).str()].work = *work;
  }
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translateToLlvmIr(*code, llvmContext);
  ASSERT_TRUE(module) << text;
  CpuTarget target = llvm::cantFail(CpuTarget::get(cpu));
  optimise(*module, target);
  llvm::Expected<std::string> bytes = linkShared(emitObject(*module, target));
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());

  object = LoadedObject(*bytes);
  ASSERT_TRUE(bool(object));
  for (auto &[name, kernel] : kernels)
    kernel.function = reinterpret_cast<hs_kernel>(object.symbol(name));
}

LoadedObject::LoadedObject(llvm::StringRef bytes) : file(memfd_create("kernels", 0)) {
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
  EXPECT_TRUE(handle) << dlerror();
}

LoadedObject::~LoadedObject() {
  if (handle)
    dlclose(handle);
  if (file >= 0)
    close(file);
}

void *LoadedObject::symbol(llvm::StringRef name) const { return dlsym(handle, name.str().c_str()); }

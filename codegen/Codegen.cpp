//===- Codegen.cpp - from a planned module to an artefact ----------------------------------===//

#include "codegen/Codegen.h"
#include "codegen/LowerToLlvm.h"
#include "codegen/Table.h"
#include "ir/TableDialect.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

/// What a kernel computes, as text: all but its name.
static std::string bodyOf(Operation *kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  StringRef name = SymbolTable::getSymbolName(kernel);
  size_t at = text.find(("@" + name).str());
  return text.erase(at, name.size() + 1);
}

namespace {
/// The code of the kernels that a module launches; kernels that compute the same share theirs.
struct EmittedKernels {
  OwningOpRef<ModuleOp> code;
  struct Function {
    std::string name;
    Work work;
  };
  llvm::StringMap<Function> functions; // by the kernel's symbol
};
} // namespace

static FailureOr<EmittedKernels> emitKernels(ModuleOp module) {
  EmittedKernels emitted;
  emitted.code = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(emitted.code->getBody());
  SymbolTable symbols(module);
  llvm::StringMap<EmittedKernels::Function> byBody;
  WalkResult result = module.walk([&](table::LaunchOp launch) -> WalkResult {
    StringRef name = launch.getKernel();
    if (emitted.functions.count(name))
      return success();
    Operation *kernel = symbols.lookup(name);
    if (!isa_and_nonnull<kernel::GroupOp, kernel::ContractOp>(kernel))
      return launch.emitOpError("launches ") << launch.getKernelAttr() << ", which is no kernel";
    auto [known, isNew] = byBody.try_emplace(bodyOf(kernel));
    if (isNew) {
      auto group = dyn_cast<kernel::GroupOp>(kernel);
      FailureOr<Work> work = group ? emitCpuKernel(builder, group)
                                   : emitCpuKernel(builder, cast<kernel::ContractOp>(kernel));
      if (failed(work))
        return failure();
      known->second = {name.str(), *work};
    }
    emitted.functions[name] = known->second;
    return success();
  });
  if (result.wasInterrupted())
    return failure();
  return emitted;
}

static FailureOr<std::unique_ptr<llvm::Module>>
buildLlvmModule(ModuleOp module, const CpuTarget &target, llvm::LLVMContext &context) {
  loadKernelDialects(*module.getContext());
  FailureOr<EmittedKernels> emitted = emitKernels(module);
  if (failed(emitted))
    return failure();
  std::unique_ptr<llvm::Module> code = translateToLlvmIr(*emitted->code, context);
  if (!code)
    return failure();
  llvm::StringMap<KernelCode> kernels;
  for (auto &entry : emitted->functions) {
    llvm::Function *function = code->getFunction(entry.second.name);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    kernels[entry.first()] = {function, entry.second.work};
  }
  if (failed(writeTables(module, kernels, target, *code)))
    return failure();
  optimise(*code, target);
  return code;
}

FailureOr<std::string> halfstep::codegen::compileToLlvmIr(ModuleOp module,
                                                          const CpuTarget &target) {
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> code = buildLlvmModule(module, target, context);
  if (failed(code))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*code)->print(stream, nullptr);
  return text;
}

FailureOr<std::string> halfstep::codegen::compileToObject(ModuleOp module,
                                                          const CpuTarget &target) {
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> code = buildLlvmModule(module, target, context);
  if (failed(code))
    return failure();
  return emitObject(**code, target);
}

FailureOr<CompiledArtefact> halfstep::codegen::compileModule(ModuleOp module,
                                                             const CpuTarget &target) {
  FailureOr<std::string> object = compileToObject(module, target);
  if (failed(object))
    return failure();
  llvm::Expected<std::string> sharedObject = linkShared(*object);
  if (!sharedObject)
    return module.emitError(llvm::toString(sharedObject.takeError()));
  return CompiledArtefact{std::move(*object), std::move(*sharedObject)};
}

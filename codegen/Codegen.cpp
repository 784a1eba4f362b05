//===- Codegen.cpp - from a planned module to an artefact ----------------------------------===//

#include "codegen/Codegen.h"
#include "codegen/Table.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

static FailureOr<std::unique_ptr<llvm::Module>>
buildLlvmModule(ModuleOp module, const Target &target, llvm::LLVMContext &context) {
  FailureOr<KernelCode> kernels = emitKernelCode(module, target, context);
  if (failed(kernels) || failed(writeTables(module, *kernels, target.cpu)))
    return failure();
  optimise(*kernels->host, target.cpu);
  return std::move(kernels->host);
}

FailureOr<std::string> halfstep::codegen::compileToLlvmIr(ModuleOp module, const Target &target) {
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> code = buildLlvmModule(module, target, context);
  if (failed(code))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*code)->print(stream, nullptr);
  return text;
}

FailureOr<std::string> halfstep::codegen::compileToObject(ModuleOp module, const Target &target) {
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> code = buildLlvmModule(module, target, context);
  if (failed(code))
    return failure();
  return emitObject(**code, target.cpu);
}

FailureOr<CompiledArtefact> halfstep::codegen::compileModule(ModuleOp module,
                                                             const Target &target) {
  FailureOr<std::string> object = compileToObject(module, target);
  if (failed(object))
    return failure();
  llvm::Expected<std::string> sharedObject = linkShared(*object);
  if (!sharedObject)
    return module.emitError(llvm::toString(sharedObject.takeError()));
  return CompiledArtefact{std::move(*object), std::move(*sharedObject)};
}

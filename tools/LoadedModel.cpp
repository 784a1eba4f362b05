//===- LoadedModel.cpp - A model compiled into this process ---------------===//

#include "tools/LoadedModel.h"

#include "codegen/Codegen.h"
#include "tools/WeightFile.h"

using namespace mlir;

namespace halfstep {

codegen::CpuTarget targetOf(const Recipe &recipe) {
  llvm::Expected<codegen::CpuTarget> target = codegen::CpuTarget::get(recipe.cpu);
  if (!target)
    throw runtime::Error("--cpu", llvm::toString(target.takeError())).exitWith(2);
  return *target;
}

FailureOr<LoadedModel> loadInMemory(Compilation &compilation) {
  FailureOr<codegen::CompiledArtefact> artefact =
      codegen::compileModule(compilation.module(), targetOf(compilation.recipe()));
  FailureOr<llvm::ArrayRef<Weight>> weights = compilation.weights();
  if (failed(artefact) || failed(weights))
    return failure();
  return LoadedModel{runtime::Artefact::load(compilation.name(), artefact->sharedObject),
                     toSafetensors(*weights)};
}

} // namespace halfstep

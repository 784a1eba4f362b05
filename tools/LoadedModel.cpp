//===- LoadedModel.cpp - A model compiled into this process ---------------===//

#include "tools/LoadedModel.h"

#include "codegen/Codegen.h"
#include "tools/WeightFile.h"

#include <cassert>

using namespace mlir;

namespace halfstep {

codegen::Target targetOf(const Recipe &recipe) {
  llvm::Expected<codegen::CpuTarget> cpu = codegen::CpuTarget::get(recipe.cpu);
  if (!cpu)
    throw runtime::Error("--cpu", llvm::toString(cpu.takeError())).exitWith(2);
  codegen::Target target(*cpu);
  assert(recipe.target != "cpu,cuda" && "Compilation::advance wants one target");
  if (recipe.target == "cpu") {
    if (recipe.withEmulation)
      throw runtime::Error("--with-emulation", "it has no meaning without --target cuda")
          .exitWith(2);
    return target;
  }
  llvm::Expected<codegen::CudaTarget> cuda = codegen::CudaTarget::get(recipe.arch);
  if (!cuda)
    throw runtime::Error("--arch", llvm::toString(cuda.takeError())).exitWith(2);
  target.cuda = std::move(*cuda);
  target.withEmulation = recipe.withEmulation;
  return target;
}

void chooseTarget(CompileOptions &options, const runtime::DeviceChoice &device) {
  Recipe &recipe = options.recipe;
  if (recipe.target == "cpu,cuda")
    recipe.target = runtime::takesCuda(device) ? "cuda" : "cpu";
  recipe.withEmulation |= device.device == "emulate" && recipe.target == "cuda";
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

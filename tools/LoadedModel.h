//===- LoadedModel.h - A model compiled into this process -----------------===//
//
// The way of a training executable, without the file: machine code is linked into a shared object
// and loaded from memory. So both compute the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TOOLS_LOADEDMODEL_H
#define HALFSTEP_TOOLS_LOADEDMODEL_H

#include "codegen/Target.h"
#include "runtime/Payload.h"
#include "tools/Compilation.h"

namespace halfstep {

struct LoadedModel {
  std::shared_ptr<const runtime::Artefact> artefact;
  std::string weightFile; // safetensors

  runtime::Safetensors weights() const {
    return runtime::Safetensors::parse(artefact->name(), weightFile);
  }
};

/// What to compile for, as --target and its companions say. Throws where that is not possible.
codegen::Target targetOf(const Recipe &recipe);

/// Decides what a model is compiled for that runs at once: of several targets the one that it will
/// run on, with kernels for an emulated device where it runs on that.
void chooseTarget(CompileOptions &options, const runtime::DeviceChoice &device);

/// Compiles and loads a model behind the memory phase.
mlir::FailureOr<LoadedModel> loadInMemory(Compilation &compilation);

} // namespace halfstep

#endif

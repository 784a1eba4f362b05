//===- WeightFile.h - Weights as safetensors, and back --------------------===//

#ifndef HALFSTEP_TOOLS_WEIGHTFILE_H
#define HALFSTEP_TOOLS_WEIGHTFILE_H

#include "frontend/Weight.h"
#include "runtime/Safetensors.h"

namespace halfstep {

/// A whole safetensors file with `weights` under their names.
std::string toSafetensors(llvm::ArrayRef<Weight> weights);

/// The parameters in a checkpoint, as views into it; everything else in it is called
/// "halfstep/...".
std::vector<Weight> parametersOf(mlir::MLIRContext &context,
                                 const runtime::Safetensors &checkpoint);

} // namespace halfstep

#endif

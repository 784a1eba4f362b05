//===- Ptxas.h - emitted kernels as PTX, and what ptxas makes of it -------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_PTXAS_H
#define HALFSTEP_TESTS_CODEGEN_PTXAS_H

#include "codegen/Ptxas.h"

#include "mlir/IR/BuiltinOps.h"

namespace halfstep::tests {

/// The PTX of emitted kernels, for sm_80, sm_90, ...; `code` is lowered.
std::string ptxOf(mlir::ModuleOp code, const llvm::StringMap<codegen::Grid> &grids,
                  const std::string &architecture);

/// What ptxas says about the kernels of `ptx`; a failure if it refuses them.
llvm::StringMap<codegen::KernelResources> resourcesOf(const std::string &ptx,
                                                      const std::string &architecture);

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_PTXAS_H

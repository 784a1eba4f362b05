//===- Ptxas.h - what ptxas says about kernels ----------------------------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_PTXAS_H
#define HALFSTEP_TESTS_CODEGEN_PTXAS_H

#include "codegen/EmitCuda.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace halfstep::tests {

/// The PTX of emitted kernels, for sm_80, sm_90, ...; `code` is lowered.
std::string ptxOf(mlir::ModuleOp code, const llvm::StringMap<codegen::Grid> &grids,
                  const std::string &architecture);

/// What ptxas says about PTX; a failure if it refuses it.
std::string assemble(const std::string &ptx, const std::string &architecture);

/// The largest number that follows `what` in a report.
unsigned largest(llvm::StringRef report, llvm::StringRef what);

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_PTXAS_H

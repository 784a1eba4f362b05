//===- Ptxas.h - PTX as a device executes it -----------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_PTXAS_H
#define HALFSTEP_CODEGEN_PTXAS_H

#include "codegen/Ptx.h"

namespace halfstep::codegen {

/// What a kernel takes of a multiprocessor.
struct KernelResources {
  unsigned registers = 0;   ///< of a thread
  unsigned sharedBytes = 0; ///< of a block
  unsigned spillBytes = 0;  ///< of a thread: registers stored to memory and loaded again
};

/// A module as the target's device executes it.
struct Assembled {
  std::string cubin;
  llvm::StringMap<KernelResources> resources; ///< by kernel
};

/// Assembles PTX. An error where ptxas cannot be run or does not accept the module.
llvm::Expected<Assembled> assemble(llvm::StringRef ptx, const CudaTarget &target);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_PTXAS_H

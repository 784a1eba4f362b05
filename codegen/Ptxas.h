//===- Ptxas.h - what ptxas says about kernels ---------------------------------------------===//

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

/// Assembles a module for the target's architecture, and forgets the result. By kernel; an error
/// where ptxas cannot be run or does not accept the module.
llvm::Expected<llvm::StringMap<KernelResources>> readResources(llvm::StringRef ptx,
                                                               const CudaTarget &target);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_PTXAS_H

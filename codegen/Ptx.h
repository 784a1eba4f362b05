//===- Ptx.h - CUDA kernels as PTX ---------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_PTX_H
#define HALFSTEP_CODEGEN_PTX_H

#include "codegen/EmitCuda.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>

namespace halfstep::codegen {

/// What PTX is made for, and with.
struct CudaTarget {
  std::string architecture; ///< sm_80, sm_90, ...
  std::string libdevice;    ///< the path of CUDA's library of elementary functions
  std::string ptxas;        ///< the path of CUDA's assembler, which only reports need

  /// An error says which architectures there are.
  static llvm::Expected<CudaTarget> get(llvm::StringRef architecture);
};

/// Makes kernels of the module's functions, one for each grid, and links what they use of
/// libdevice. A function that neither defines is an error.
llvm::Error finishKernels(llvm::Module &module, const llvm::StringMap<Grid> &grids,
                          const CudaTarget &target);

/// The module's PTX.
std::string emitPtx(llvm::Module &module, const CudaTarget &target);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_PTX_H

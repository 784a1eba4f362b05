//===- KernelCode.h - the code that entries launch -----------------------------------------===//

#ifndef HALFSTEP_CODEGEN_KERNELCODE_H
#define HALFSTEP_CODEGEN_KERNELCODE_H

#include "codegen/Target.h"
#include "runtime/step_abi.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Module.h"

namespace halfstep::codegen {

/// What the table says of an entry whose code was generated.
struct EntryCode {
  hs_entry_kind kind;
  llvm::Constant *detail;
};

/// The code of a module's kernels.
struct KernelCode {
  std::unique_ptr<llvm::Module> host;                   ///< functions of the host, and details
  llvm::DenseMap<mlir::Operation *, EntryCode> entries; ///< those that launch generated code
  llvm::Constant *cuda = nullptr; ///< the hs_cuda_code; null where the host executes the kernels
};

/// Emits what the programs of `module` launch; kernels that compute the same share their code. The
/// module is not changed; errors are diagnostics at its operations.
mlir::FailureOr<KernelCode> emitKernelCode(mlir::ModuleOp module, const Target &target,
                                           llvm::LLVMContext &context);

/// PTX as text, for people and for ptxas, and what launches it.
struct PtxCode {
  struct Launch {
    std::string kernel; ///< the name in `text`
    Grid grid;
  };

  std::string text;
  llvm::DenseMap<mlir::Operation *, Launch> launches; ///< by entry
};
mlir::FailureOr<PtxCode> compileToPtx(mlir::ModuleOp module, const CudaTarget &target);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_KERNELCODE_H

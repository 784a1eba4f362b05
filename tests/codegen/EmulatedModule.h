//===- EmulatedModule.h - grid kernels in this process --------------------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_EMULATEDMODULE_H
#define HALFSTEP_TESTS_CODEGEN_EMULATEDMODULE_H

#include "Harness.h"

#include "codegen/EmitCuda.h"
#include "runtime/emulator/GridRun.h"

namespace halfstep::tests {

/// Emitted CUDA kernels, retargeted to the host and compiled.
class EmulatedModule {
public:
  /// `code` holds the kernels of `grids`, by name, and is lowered. Failures are gtest failures.
  void load(mlir::ModuleOp code, llvm::StringMap<codegen::Grid> grids);

  /// Runs a kernel on addresses of the device's memory.
  void launch(llvm::StringRef name, ArrayRef<void *> addresses, runtime::GridRun &device) const;

private:
  struct Function {
    codegen::Grid grid;
    uint64_t sharedBytes;
    hs_emulated_kernel kernel;
  };
  llvm::StringMap<Function> functions;
  LoadedObject object;
};

/// A copy in the device's memory; of a buffer that nothing was ever written to, if it says so.
void *toDevice(runtime::DeviceMemory &memory, ArrayRef<char> bytes, bool isWritten);

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_EMULATEDMODULE_H

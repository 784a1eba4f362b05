//===- CpuTarget.h - the processor that kernels are compiled for ---------------------------===//

#ifndef HALFSTEP_CODEGEN_CPUTARGET_H
#define HALFSTEP_CODEGEN_CPUTARGET_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace halfstep::codegen {

struct CpuTarget {
  std::string cpu;                   ///< LLVM's name of the instruction set: x86-64-v3 or -v4
  std::string tune;                  ///< whose timings to schedule for
  std::vector<std::string> features; ///< all that a running CPU must have, by LLVM's names
  unsigned vectorBits;

  /// `name` is an argument of --cpu: native, x86-64-v3 or x86-64-v4. Native is the best of these
  /// that this machine has, with its 16-bit instructions, tuned for it. The error says what is
  /// wrong and what can be given instead.
  static llvm::Expected<CpuTarget> get(llvm::StringRef name);
};

/// Optimises a module for a target: its kernels are explicit vector code, which mostly needs
/// cleaning up.
void optimise(llvm::Module &module, const CpuTarget &target);

/// Object code, position-independent.
std::string emitObject(llvm::Module &module, const CpuTarget &target);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CPUTARGET_H

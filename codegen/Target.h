//===- Target.h - what an artefact is compiled for -----------------------------------------===//

#ifndef HALFSTEP_CODEGEN_TARGET_H
#define HALFSTEP_CODEGEN_TARGET_H

#include "codegen/CpuTarget.h"
#include "codegen/Ptx.h"

#include <optional>

namespace halfstep::codegen {

struct Target {
  Target(CpuTarget cpu) : cpu(std::move(cpu)) {}

  CpuTarget cpu;                  ///< of tables, and of kernels unless they are for `cuda`
  std::optional<CudaTarget> cuda; ///< what executes the programs in place of the CPU
  bool withEmulation = false;     ///< CUDA kernels come for `cpu` too
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_TARGET_H

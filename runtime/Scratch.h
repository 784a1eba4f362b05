//===- Scratch.h - Scratch memory of the entries of a step --------------------------*- C++ -*-===//
//
// Kernels that are not generated gather, widen and add up blocks in scratch memory. Each worker has
// one piece of it, as large as the most demanding entry needs, since a worker runs one at a time.
// The compiler plans it and the runtime reserves it by this one function of what an entry is, which
// leaves out what CPU it runs on.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_SCRATCH_H
#define HALFSTEP_RUNTIME_SCRATCH_H

#include "runtime/step_abi.h"

namespace halfstep::runtime {

/// What no entry passes, whatever its shape: ConvolutionBlock.cpp and GemmBlock.cpp choose their
/// blocks for it.
inline constexpr uint64_t mostScratchBytes = 16 << 20;

/// The bytes that an entry of this hs_entry_kind needs of each worker: whole pages, so that no two
/// workers share one. `detail` is as in hs_entry.
uint64_t scratchBytes(uint32_t kind, const void *detail);

} // namespace halfstep::runtime

#endif

//===- Profile.h - what a step costs, without running it -----------------------------------===//
//
// Of each entry what it has to do and, on CUDA, what its kernel takes of a device and the time
// below which no device does it: the roofline of Williams, Waterman and Patterson, "Roofline: an
// insightful visual performance model for multicore architectures" (CACM 52, 2009).
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_PROFILE_H
#define HALFSTEP_CODEGEN_PROFILE_H

#include "codegen/Devices.h"
#include "codegen/EntryCost.h"
#include "codegen/KernelCode.h"
#include "codegen/Ptxas.h"

#include <string>
#include <vector>

namespace halfstep::codegen {

struct EntryProfile {
  std::string name, nodes; ///< as in the launch table
  EntryCost cost;
  std::optional<PtxCode::Launch> launch;    ///< of a generated CUDA kernel
  std::optional<KernelResources> resources; ///< of that kernel, where there is a ptxas
  bool isOnTensorCores = false;             ///< all but its f64 arithmetic

  /// Seconds: as long as the device takes to move the bytes or to do the arithmetic, whichever is
  /// more. What a launch costs by itself is not in it.
  double timeOn(const Device &device) const;
};

struct ProgramProfile {
  std::string name; ///< init, micro, update, evaluate, infer
  uint64_t runs;    ///< in a step: as many as there are micro-batches, one update, or none
  std::vector<EntryProfile> entries;

  EntryCost cost() const;
  double timeOn(const Device &device) const;
};

struct Profile {
  std::vector<ProgramProfile> programs; ///< those that have entries
  std::vector<Device> devices;          ///< that run what it was compiled for; none for the CPU
  std::string note;                     ///< what is missing, and why; may be empty

  /// The entries, cost and time of one training step.
  uint64_t stepEntries() const;
  EntryCost stepCost() const;
  double stepTimeOn(const Device &device) const;
};

/// Of a module as the memory phase leaves it. The module is not changed; errors are diagnostics at
/// its operations.
mlir::FailureOr<Profile> profile(mlir::ModuleOp module, const Target &target);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_PROFILE_H

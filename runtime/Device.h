//===- Device.h - Where a step runs -------------------------------------------------*- C++ -*-===//
#ifndef HALFSTEP_RUNTIME_DEVICE_H
#define HALFSTEP_RUNTIME_DEVICE_H

#include "runtime/Backend.h"

#include <memory>
#include <string>

namespace halfstep::runtime {

/// What --device says: which CUDA device executes the programs of an artefact that is for CUDA.
struct DeviceChoice {
  /// "auto", the first one; "emulate", an emulated one; or a number.
  std::string device = "auto";
  /// Of the order in which an emulated device runs what nothing orders.
  uint64_t emulatorSeed = 0;
};

/// Whether a step that was compiled for CPU and CUDA runs on CUDA: where a device is named, and
/// where there is one.
bool takesCuda(const DeviceChoice &choice);

/// Makes what executes an artefact. Throws where it cannot be executed here, saying why and what
/// can be done. `name` is the artefact's, for messages.
std::unique_ptr<Backend> openBackend(const std::string &name, const hs_artefact &artefact,
                                     int threads, const DeviceChoice &choice, Use use);

} // namespace halfstep::runtime

#endif

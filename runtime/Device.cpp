//===- Device.cpp - Where a step runs ---------------------------------------------------------===//

#include "runtime/Device.h"

#include "runtime/CpuBackend.h"
#include "runtime/Error.h"
#include "runtime/cuda/CudaBackend.h"
#include "runtime/cuda/LoadCuda.h"
#include "runtime/emulator/EmulatedCuda.h"

#include <charconv>

namespace halfstep::runtime {

/// The number that --device gives; 0 for "auto".
static int deviceNumber(const std::string &device) {
  if (device == "auto")
    return 0;
  int number = -1;
  auto [end, failure] = std::from_chars(device.data(), device.data() + device.size(), number);
  if (failure != std::errc() || end != device.data() + device.size() || number < 0)
    throw Error("--device", "'" + device + "' is not auto, emulate or a device's number")
        .exitWith(2);
  return number;
}

bool takesCuda(const DeviceChoice &choice) {
  if (choice.device != "auto")
    return true;
  try {
    cuda::Api api = loadCuda();
    int count = 0;
    return api.driver.cuInit(0) == cuda::success &&
           api.driver.cuDeviceGetCount(&count) == cuda::success && count > 0;
  } catch (const Error &) {
    return false;
  }
}

std::unique_ptr<Backend> openBackend(const std::string &name, const hs_artefact &artefact,
                                     int threads, const DeviceChoice &choice, Use use) {
  bool isEmulated = choice.device == "emulate";
  int number = isEmulated ? 0 : deviceNumber(choice.device);
  if (!artefact.cuda) {
    if (choice.device != "auto")
      throw Error("--device", name + " was compiled for the CPU")
          .help("compile it with --target cuda")
          .exitWith(2);
    return std::make_unique<CpuBackend>(name, artefact, threads);
  }
  const hs_cuda_code &code = *artefact.cuda;
  if (isEmulated && !code.has_emulation)
    throw Error("--device", name + " carries no kernels for an emulated device")
        .help("compile it with --with-emulation")
        .exitWith(2);
  if (isEmulated)
    return std::make_unique<CudaBackend>(
        name, artefact, emulatedCuda(code.emulated, code.emulated_count, choice.emulatorSeed),
        number, use);
  try {
    return std::make_unique<CudaBackend>(name, artefact, loadCuda(), number, use);
  } catch (Error &error) {
    if (code.has_emulation)
      error.help("it can run on an emulated device: --device emulate");
    throw;
  }
}

} // namespace halfstep::runtime

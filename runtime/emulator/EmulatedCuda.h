//===- EmulatedCuda.h - The CUDA driver and cuBLASLt, emulated ----------------------*- C++ -*-===//
//
// The functions that the CUDA back end calls, on a device that is emulated and checks what it is
// asked to do. Work that the host puts into a stream runs when the host waits for it, as late as it
// may; memory, copies, launches and the order between streams are checked as it runs.
//
// What the driver reports comes back as its error code. What is a fault of the program that a real
// device need not notice is thrown as runtime::Error, which names the kernel, its ONNX nodes, block
// and thread, the address and the parameter that it lies behind.
//
// Stricter than the driver: page-locked memory is no device memory; a capture is of one stream, and
// of copies from and to page-locked memory only; a grid and its blocks have one dimension.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_EMULATEDCUDA_H
#define HALFSTEP_RUNTIME_EMULATOR_EMULATEDCUDA_H

#include "runtime/cuda/CudaApi.h"
#include "runtime/emulation_abi.h"

namespace halfstep::runtime {

/// An emulated device, started afresh, that knows `functions`: as many as an artefact carries. They
/// have to live as long as it does. The seed gives the order of whatever nothing orders. There is
/// one device in a process: the one before is forgotten, with all that was in it.
cuda::Api emulatedCuda(const hs_emulated_function *functions, uint64_t count, uint64_t seed);

/// What operations on the device have touched of its memory since it was started: each operation
/// each byte once. Copies from and to the host are not in it, nor is a product's workspace.
struct EmulatedTraffic {
  uint64_t readBytes = 0, writtenBytes = 0;
};
EmulatedTraffic emulatedTraffic();

/// How much memory the device has: 16 GiB where nothing else is said.
void setEmulatedMemory(uint64_t bytes);

} // namespace halfstep::runtime

#endif

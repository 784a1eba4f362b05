//===- EmulatedDevice.h - Memory and work of an emulated device ---------------------*- C++ -*-===//
//
// What the emulated driver and the emulated cuBLASLt share: the memory of the device, page-locked
// memory of the host, streams, and the operations that go into them, with what has to be checked
// when an operation is issued and when it runs.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_EMULATEDDEVICE_H
#define HALFSTEP_RUNTIME_EMULATOR_EMULATEDDEVICE_H

#include "runtime/emulator/AccessHistory.h"
#include "runtime/emulator/EmulatedCuda.h"
#include "runtime/emulator/GridRun.h"
#include "runtime/emulator/Streams.h"

namespace halfstep::runtime {

/// Page-locked memory, which copies read and write while the host goes on.
class PinnedMemory {
public:
  struct Allocation {
    Memory memory;
    uint64_t copies = 0; // that wrote there
    uint64_t reads = 0;  // that are still to come, of copies from there
    explicit Allocation(uint64_t bytes) : memory("page-locked memory", bytes) {}
  };

  void *allocate(uint64_t bytes);
  /// Whether `address` was the beginning of an allocation.
  bool release(void *address);
  /// Where the bytes lie; null: not in page-locked memory.
  Allocation *find(const void *address, uint64_t bytes);
  Allocation *startingAt(const void *address);

private:
  std::map<uintptr_t, std::unique_ptr<Allocation>> allocations; // by address
};

/// A range of bytes that an operation touches.
struct DeviceRange {
  const void *address;
  uint64_t bytes;
};

class EmulatedDevice {
public:
  explicit EmulatedDevice(uint64_t seed) : streams(seed), grid(memory, seed) {}

  /// What is put into a stream: called each time that happens, it prepares the operation. Captured
  /// in a graph, it is called at each of the graph's launches.
  using Work = std::function<Streams::Operation()>;

  Work copyToDevice(void *target, const void *source, uint64_t bytes);
  Work copyToHost(void *target, const void *source, uint64_t bytes);
  Work copy(void *target, const void *source, uint64_t bytes);
  Work fill(void *target, unsigned char value, uint64_t bytes);
  Work launch(const hs_emulated_function &function, std::vector<void *> parameters, uint32_t blocks,
              uint32_t threads, uint64_t dynamicSharedBytes);

  /// Notes that an operation reads or writes device memory. Throws where memory was never written
  /// or another stream uses it at the same time.
  void read(const std::string &what, DeviceRange range, const Moment &moment);
  void write(const std::string &what, DeviceRange range, const Moment &moment);

  /// Notes that an operation leaves memory behind as if it had never been written.
  void spoil(const std::string &what, DeviceRange range, const Moment &moment);

  /// As read and write, of the launch that has just run.
  void noteTouched(const std::string &what, const Moment &moment);

  /// Frees memory after all work is done. Whether `address` was the beginning of an allocation.
  bool release(void *address);
  bool releasePinned(void *address);

  DeviceMemory memory;
  PinnedMemory pinned;
  Streams streams;
  uint64_t totalBytes = uint64_t(16) << 30;
  EmulatedTraffic traffic;

private:
  AccessHistory history;
  GridRun grid;
};

} // namespace halfstep::runtime

#endif

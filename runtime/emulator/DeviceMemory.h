//===- DeviceMemory.h - what an emulated device has allocated -----------------------*- C++ -*-===//
//
// Device memory is host memory of which is known what belongs to an allocation and which bytes were
// ever written. Within a launch it is also known which thread touched a byte last, to tell when two
// threads that nothing orders meet there.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_DEVICEMEMORY_H
#define HALFSTEP_RUNTIME_EMULATOR_DEVICEMEMORY_H

#include "runtime/Memory.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace halfstep::runtime {

/// Who made an access: the thread's number in the grid and its block; how many barriers the block
/// has passed; how often the thread has synchronised with lanes of its warp, and which, a bit each.
struct Toucher {
  uint32_t thread, block, epoch, warpEpoch, members;
};

/// The last reader and writer of every byte of a region, within a launch.
class TouchMap {
public:
  /// Notes an access; whom it races with, if with anybody.
  std::optional<Toucher> touch(uintptr_t address, uint32_t bytes, Toucher by, bool isStore);
  void clear() { pages.clear(); }

private:
  static constexpr uintptr_t pageBytes = 4096;
  struct Marks {
    Toucher writer, reader;
    bool isWritten = false, isRead = false;
    // Besides `reader`: others that nothing has ordered since, or of another block.
    bool hasOtherReaders = false, hasForeignReaders = false;
  };
  /// Whether a barrier or a synchronisation of the warp lies between the two.
  static bool isOrdered(const Toucher &before, const Toucher &after) {
    if (before.thread == after.thread)
      return true;
    bool isMember =
        before.thread / 32 == after.thread / 32 && (after.members >> before.thread % 32 & 1);
    return before.block == after.block &&
           (before.epoch != after.epoch || (isMember && before.warpEpoch != after.warpEpoch));
  }

  std::unordered_map<uintptr_t, std::unique_ptr<Marks[]>> pages;
};

class DeviceMemory {
public:
  void *allocate(uint64_t bytes);
  /// Whether `address` was the beginning of an allocation.
  bool release(void *address);
  uint64_t allocatedBytes() const { return total; }

  /// What is wrong with an access to device memory, in words; empty: nothing.
  std::string checkAccess(const void *address, uint64_t bytes, bool isStore);
  /// Notes that bytes were written by a copy.
  void markWritten(const void *address, uint64_t bytes);

private:
  struct Allocation {
    Memory memory;
    std::vector<bool> isWritten; // a byte each
    explicit Allocation(uint64_t bytes)
        : memory("emulated device memory", bytes), isWritten(bytes) {}
  };
  Allocation *find(const void *address);

  std::map<uintptr_t, std::unique_ptr<Allocation>> allocations; // by address
  std::map<uintptr_t, uint64_t> released;                       // sizes, by address
  uint64_t total = 0;
};

} // namespace halfstep::runtime

#endif

//===- GridRun.h - one launch of an emulated kernel ---------------------------------*- C++ -*-===//
//
// Blocks run one after the other in a random order; a block's warps take turns in a random order,
// each until it waits; within a warp the lanes follow each other. The order comes from a seed, and
// no result may depend on it.
//
// Every access is checked, so what is known of the pages that a launch touches is kept at hand.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_GRIDRUN_H
#define HALFSTEP_RUNTIME_EMULATOR_GRIDRUN_H

#include "runtime/emulation_abi.h"
#include "runtime/emulator/DeviceMemory.h"
#include "runtime/emulator/Fiber.h"
#include "runtime/emulator/TouchMap.h"

#include <array>
#include <map>
#include <random>

namespace halfstep::runtime {

/// `kernel NAME (NODES)`, for messages.
std::string describe(const hs_emulated_function &function);

class GridRun {
public:
  GridRun(DeviceMemory &memory, uint64_t seed) : memory(memory), random(seed) {}

  /// Runs all blocks; each has `dynamicSharedBytes` besides what the function declares. Throws what
  /// is wrong with an access, a barrier or an exchange, naming the kernel, block, thread, address
  /// and the parameter that the address is near to.
  void run(const hs_emulated_function &function, const std::vector<void *> &parameters,
           uint32_t blocks, uint32_t threads, uint64_t dynamicSharedBytes = 0);

  /// What the launch touched.
  const TouchMap &touched() const { return globalTouches; }

private:
  static constexpr uint32_t lanes = 32;
  static constexpr uint64_t stackBytes = 64 << 10; // of a thread; kernels keep little there
  enum class State { Ready, AtExchange, AtBarrier, Done };
  struct PendingCopy {
    void *to;
    const void *from;
    uint32_t bytes, group;
  };
  struct Thread : hs_emulated_thread {
    GridRun *grid;
    Fiber fiber;
    State state;
    uint32_t members, partner, given, received; // of an exchange
    Toucher toucher;
    // What the lane gives to an operation of the whole warp: by turns in two places, as a lane may
    // come to the next one before others have looked at this one's.
    std::array<uint32_t, 6> registers[2];
    uint32_t turn;
    std::vector<PendingCopy> copies; // in order
    uint32_t copyGroup;              // that is being gathered
  };
  /// A page that was touched lately.
  struct Line {
    uintptr_t number = ~uintptr_t(0);
    DeviceMemory::Page page{};
    TouchMap::Page *touches = nullptr;
  };

  void prepare(uint32_t threadCount);
  void noteReach();
  void narrow(Line &line, uintptr_t address) const;
  bool isInReach(uintptr_t begin, uintptr_t end) const;
  void runBlock(uint32_t block);
  void runWarp(uint32_t first, uint32_t end);
  void checkMembers(const Thread &thread, uint32_t first, uint32_t end);
  void receive(Thread &thread, uint32_t first);
  void resume(Thread &thread);
  [[noreturn]] void fail(const Thread &thread, const std::string &what);
  void setWarpOperations(Thread &thread);
  void copyAsync(Thread &thread, void *to, const void *from, uint32_t bytes);
  void waitForCopies(Thread &thread, uint32_t pending);
  /// Meets the whole warp; what lane `i` has given is `given(thread, i)` then.
  void give(Thread &thread, const uint32_t *registers, size_t count);
  const std::array<uint32_t, 6> &given(const Thread &thread, uint32_t lane) const {
    return threads[thread.thread / lanes * lanes + lane].registers[thread.turn ^ 1];
  }
  void loadMatrices(Thread &thread, const void *row, bool isTransposed, uint32_t (&registers)[4]);
  void multiply(Thread &thread, const uint32_t *operands, bool isBfloat, float (&sums)[4]);
  void checkAccess(Thread &thread, const void *address, uint32_t bytes, uint32_t alignment,
                   bool isStore);
  bool passes(Thread &thread, const void *address, uint32_t bytes, bool isStore);
  bool isAtFault(Thread &thread, const void *address, uint32_t bytes, uint32_t alignment,
                 bool isStore);
  std::string problemOf(Thread &thread, const void *address, uint32_t bytes, bool isStore);
  Line &line(uintptr_t address);
  bool isShared(uintptr_t address) const {
    return address - uintptr_t(shared->data()) < shared->bytes();
  }
  std::string placeOf(const void *address) const;
  std::string race(uint32_t other) const;

  static Thread &of(hs_emulated_thread *self) { return *static_cast<Thread *>(self); }

  DeviceMemory &memory;
  std::mt19937_64 random;
  const hs_emulated_function *function = nullptr;
  const std::vector<void *> *parameters = nullptr;
  std::vector<Thread> threads;
  std::unique_ptr<Memory> stacks, shared;
  std::map<uintptr_t, uintptr_t> reach; // from where to where the kernel may touch memory
  uint64_t sharedBytes = 0;
  WrittenMap sharedWritten{0};
  TouchMap sharedTouches, globalTouches;
  std::array<Line, 256> lines; // by the page's number
  uint32_t epoch = 0;
  std::string problem; // of the thread that cannot go on
};

} // namespace halfstep::runtime

#endif

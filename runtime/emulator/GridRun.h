//===- GridRun.h - one launch of an emulated kernel ---------------------------------*- C++ -*-===//
//
// Blocks run one after the other in a random order; a block's warps take turns in a random order,
// each until it waits; within a warp the lanes follow each other. The order comes from a seed, and
// no result may depend on it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_GRIDRUN_H
#define HALFSTEP_RUNTIME_EMULATOR_GRIDRUN_H

#include "runtime/emulation_abi.h"
#include "runtime/emulator/DeviceMemory.h"
#include "runtime/emulator/Fiber.h"

#include <random>

namespace halfstep::runtime {

class GridRun {
public:
  GridRun(DeviceMemory &memory, uint64_t seed) : memory(memory), random(seed) {}

  /// Runs all blocks. Throws what is wrong with an access, a barrier or an exchange, naming the
  /// kernel, block, thread and address.
  void run(const hs_emulated_function &function, void *const *parameters, uint32_t blocks,
           uint32_t threads);

private:
  static constexpr uint32_t lanes = 32;
  enum class State { Ready, AtExchange, AtBarrier, Done };
  struct Thread : hs_emulated_thread {
    GridRun *grid;
    Fiber fiber;
    State state;
    uint32_t members, partner, given, received; // of an exchange
    uint32_t synchronised, syncMembers;         // how often, and last with whom
  };

  void runBlock(uint32_t block);
  void runWarp(uint32_t first, uint32_t end);
  void receive(Thread &thread, uint32_t first, uint32_t end);
  void resume(Thread &thread);
  [[noreturn]] void fail(const Thread &thread, const std::string &what);
  void checkAccess(Thread &thread, const void *address, uint32_t bytes, uint32_t alignment,
                   bool isStore);

  static Thread &of(hs_emulated_thread *self) { return *static_cast<Thread *>(self); }

  DeviceMemory &memory;
  std::mt19937_64 random;
  const hs_emulated_function *function = nullptr;
  void *const *parameters = nullptr;
  std::vector<Thread> threads;
  std::unique_ptr<Memory> stacks, shared;
  std::vector<bool> sharedWritten;
  TouchMap sharedTouches, globalTouches;
  uint32_t epoch = 0;
  std::string problem; // of the thread that cannot go on
};

} // namespace halfstep::runtime

#endif

//===- GridRun.cpp - one launch of an emulated kernel -----------------------------------------===//

#include "runtime/emulator/GridRun.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace halfstep::runtime {

static constexpr uint64_t stackBytes = 64 << 10; // of a thread; kernels keep little there

void GridRun::run(const hs_emulated_function &function, void *const *parameters, uint32_t blocks,
                  uint32_t threadCount) {
  this->function = &function;
  this->parameters = parameters;
  threads = std::vector<Thread>(threadCount);
  stacks = std::make_unique<Memory>("emulated threads", stackBytes * threadCount);
  shared = std::make_unique<Memory>("emulated shared memory", function.shared_bytes + 1);
  globalTouches.clear();
  std::vector<uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (uint32_t block : order)
    runBlock(block);
}

void GridRun::runBlock(uint32_t block) {
  sharedWritten.assign(function->shared_bytes, false);
  sharedTouches.clear();
  ++epoch;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[i];
    thread.thread = i;
    thread.block = block;
    thread.shared = shared->data();
    thread.barrier = [](hs_emulated_thread *self) {
      of(self).state = State::AtBarrier;
      of(self).fiber.wait();
    };
    thread.exchange = [](hs_emulated_thread *self, uint32_t members, uint32_t value,
                         uint32_t mask) {
      Thread &thread = of(self);
      thread.members = members;
      thread.partner = thread.thread ^ mask;
      thread.given = value;
      thread.state = State::AtExchange;
      thread.fiber.wait();
      return thread.received;
    };
    thread.sync = [](hs_emulated_thread *self, uint32_t members) {
      self->exchange(self, members, 0, 0);
      ++of(self).synchronised;
      of(self).syncMembers = members;
    };
    thread.access = [](hs_emulated_thread *self, const void *address, uint32_t bytes,
                       uint32_t alignment, uint32_t isStore) {
      of(self).grid->checkAccess(of(self), address, bytes, alignment, isStore);
    };
    thread.grid = this;
    thread.synchronised = thread.syncMembers = 0;
    thread.state = State::Ready;
    thread.fiber.prepare(
        stacks->data() + (i + 1) * stackBytes,
        [](void *argument) {
          Thread &thread = *static_cast<Thread *>(argument);
          thread.grid->function->kernel(thread.grid->parameters, &thread);
          thread.state = State::Done;
        },
        &thread);
  }
  uint32_t warps = (threads.size() + lanes - 1) / lanes;
  std::vector<uint32_t> order(warps);
  std::iota(order.begin(), order.end(), 0);
  for (;;) {
    std::shuffle(order.begin(), order.end(), random);
    for (uint32_t warp : order)
      runWarp(warp * lanes, std::min<uint32_t>((warp + 1) * lanes, threads.size()));
    // Every thread is at a barrier or done now.
    auto waits = [](const Thread &thread) { return thread.state == State::AtBarrier; };
    auto waiting = std::find_if(threads.begin(), threads.end(), waits);
    if (waiting == threads.end())
      return;
    auto other = std::find_if_not(threads.begin(), threads.end(), waits);
    if (other != threads.end())
      fail(*waiting,
           "waits at a barrier that thread " + std::to_string(other->thread) + " never comes to");
    for (Thread &thread : threads)
      thread.state = State::Ready;
    ++epoch;
  }
}

void GridRun::runWarp(uint32_t first, uint32_t end) {
  for (;;) {
    for (uint32_t i = first; i < end; ++i)
      if (threads[i].state == State::Ready)
        resume(threads[i]);
    bool isWaiting = false;
    for (uint32_t i = first; i < end; ++i)
      if (threads[i].state == State::AtExchange) {
        isWaiting = true;
        receive(threads[i], first, end);
      }
    if (!isWaiting)
      return;
    for (uint32_t i = first; i < end; ++i)
      if (threads[i].state == State::AtExchange)
        threads[i].state = State::Ready;
  }
}

/// Gives a lane its partner's value; all of the exchange's members have to be there.
void GridRun::receive(Thread &thread, uint32_t first, uint32_t end) {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (!(thread.members >> lane & 1))
      continue;
    uint32_t other = first + lane;
    if (other >= end || threads[other].state != State::AtExchange ||
        threads[other].members != thread.members)
      fail(thread, "exchanges a value with lanes of which thread " + std::to_string(other) +
                       " is not there");
  }
  if (!(thread.members >> (thread.partner - first) & 1))
    fail(thread, "asks for the value of thread " + std::to_string(thread.partner) +
                     ", which is no member of the exchange");
  thread.received = threads[thread.partner].given;
}

void GridRun::resume(Thread &thread) {
  thread.fiber.resume();
  if (!problem.empty())
    fail(thread, std::exchange(problem, ""));
}

void GridRun::fail(const Thread &thread, const std::string &what) {
  throw Error(std::string("kernel ") + function->name,
              "block " + std::to_string(thread.block) + ", thread " +
                  std::to_string(thread.thread) + " " + what);
}

void GridRun::checkAccess(Thread &thread, const void *address, uint32_t bytes, uint32_t alignment,
                          bool isStore) {
  // Nothing can be thrown across a kernel's frames: the thread stays here for good.
  auto report = [&](const std::string &what) {
    char text[64];
    std::snprintf(text, sizeof text, "%s of %u bytes at %p ", isStore ? "store" : "load", bytes,
                  address);
    problem = std::string("makes a ") + text + what;
    thread.fiber.wait();
  };
  if (uintptr_t(address) % alignment)
    return report("is not aligned to " + std::to_string(alignment));
  uint64_t offset = uint64_t(static_cast<const char *>(address) - shared->data());
  bool isShared = offset < shared->bytes();
  if (isShared) {
    if (offset + bytes > function->shared_bytes)
      return report("reaches beyond the block's shared memory");
    auto begin = sharedWritten.begin() + ptrdiff_t(offset), end = begin + bytes;
    if (isStore)
      std::fill(begin, end, true);
    else if (std::find(begin, end, false) != end)
      return report("reads shared memory that was never written");
  } else if (std::string what = memory.checkAccess(address, bytes, isStore); !what.empty()) {
    return report(what);
  }
  uint32_t number = thread.block * uint32_t(threads.size()) + thread.thread;
  auto &touches = isShared ? sharedTouches : globalTouches;
  if (auto other = touches.touch(
          uintptr_t(address), bytes,
          {number, thread.block, epoch, thread.synchronised, thread.syncMembers}, isStore))
    return report("races with block " + std::to_string(other->block) + ", thread " +
                  std::to_string(other->thread % threads.size()) + ": nothing orders the two");
}

} // namespace halfstep::runtime

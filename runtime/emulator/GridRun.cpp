//===- GridRun.cpp - one launch of an emulated kernel -----------------------------------------===//

#include "runtime/emulator/GridRun.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

namespace halfstep::runtime {

// What is reserved for shared memory: more than any block has, to tell what misses it by a little.
static constexpr uint64_t sharedReach = 1 << 20;
static constexpr uint64_t stackMark = 0x68616c6673746570; // at the end of each thread's stack

std::string describe(const hs_emulated_function &function) {
  std::string name = std::string("kernel ") + function.name;
  return function.nodes && *function.nodes ? name + " (" + function.nodes + ")" : name;
}

void GridRun::run(const hs_emulated_function &function, const std::vector<void *> &parameters,
                  uint32_t blocks, uint32_t threadCount, uint64_t dynamicSharedBytes) {
  this->function = &function;
  this->parameters = &parameters;
  sharedBytes = function.shared_bytes + dynamicSharedBytes;
  prepare(threadCount);
  noteReach();
  lines.fill({});
  globalTouches.clear();
  epoch = 0;
  std::vector<uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (uint32_t block : order)
    runBlock(block);
}

/// Sees to it that there are as many threads, stacks and bytes of shared memory as a launch needs.
void GridRun::prepare(uint32_t threadCount) {
  if (!shared)
    shared = std::make_unique<Memory>("emulated shared memory", sharedReach);
  sharedWritten = WrittenMap(sharedBytes + TouchMap::pageBytes);
  threads.resize(threadCount);
  if (!stacks || stacks->bytes() < stackBytes * threadCount)
    stacks = std::make_unique<Memory>("emulated threads", stackBytes * threadCount);
  for (uint32_t i = 0; i < threadCount; ++i) {
    Thread &thread = threads[i];
    std::memcpy(stacks->data() + i * stackBytes, &stackMark, sizeof stackMark);
    thread.thread = i;
    thread.shared = shared->data();
    thread.grid = this;
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
      ++of(self).toucher.warpEpoch;
      of(self).toucher.members = members;
    };
    thread.access = [](hs_emulated_thread *self, const void *address, uint32_t bytes,
                       uint32_t alignment, uint32_t isStore) {
      of(self).grid->checkAccess(of(self), address, bytes, alignment, isStore);
    };
    setWarpOperations(thread);
  }
}

/// Works out where the kernel may touch memory: ranges that do not overlap.
void GridRun::noteReach() {
  reach.clear();
  if (!function->parameter_bytes)
    return;
  for (size_t i = 0; i < parameters->size(); ++i) {
    uintptr_t begin = uintptr_t((*parameters)[i]), end = begin + function->parameter_bytes[i];
    auto next = reach.upper_bound(begin);
    if (next != reach.begin() && std::prev(next)->second >= begin)
      begin = (--next)->first;
    for (; next != reach.end() && next->first <= end; next = reach.erase(next))
      end = std::max(end, next->second);
    reach[begin] = end;
  }
}

/// Leaves of a page only what the kernel may touch around the address.
void GridRun::narrow(Line &line, uintptr_t address) const {
  uintptr_t page = line.number * TouchMap::pageBytes;
  auto above = reach.upper_bound(address);
  if (above == reach.begin()) {
    line.page.end = 0;
    return;
  }
  auto [begin, end] = *std::prev(above);
  line.page.begin = uint32_t(std::max(page + line.page.begin, begin) - page);
  line.page.end = uint32_t(std::max(page, std::min(page + line.page.end, end)) - page);
}

bool GridRun::isInReach(uintptr_t begin, uintptr_t end) const {
  if (!function->parameter_bytes)
    return true;
  auto above = reach.upper_bound(begin);
  return above != reach.begin() && end <= std::prev(above)->second;
}

void GridRun::runBlock(uint32_t block) {
  sharedWritten.clear();
  for (uint64_t i = 0; i < sharedBytes + TouchMap::pageBytes; i += TouchMap::pageBytes)
    line(uintptr_t(shared->data()) + i).number = ~uintptr_t(0);
  sharedTouches.clear();
  ++epoch;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[i];
    thread.block = block;
    thread.toucher = {block * uint32_t(threads.size()) + i, epoch, epoch, 0, 0};
    thread.state = State::Ready;
    thread.turn = thread.copyGroup = 0;
    thread.copies.clear();
    thread.fiber.prepare(
        stacks->data() + (i + 1) * stackBytes,
        [](void *argument) {
          Thread &thread = *static_cast<Thread *>(argument);
          thread.grid->function->kernel(thread.grid->parameters->data(), &thread);
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
    ++epoch;
    for (Thread &thread : threads) {
      thread.state = State::Ready;
      thread.toucher.epoch = epoch;
    }
  }
}

void GridRun::runWarp(uint32_t first, uint32_t end) {
  for (;;) {
    for (uint32_t i = first; i < end; ++i)
      if (threads[i].state == State::Ready)
        resume(threads[i]);
    uint32_t complete = 0; // members of an exchange that are all there
    for (uint32_t i = first; i < end; ++i)
      if (threads[i].state == State::AtExchange) {
        if (threads[i].members != complete)
          checkMembers(threads[i], first, end);
        complete = threads[i].members;
        receive(threads[i], first);
      }
    if (!complete)
      return;
    for (uint32_t i = first; i < end; ++i)
      if (threads[i].state == State::AtExchange)
        threads[i].state = State::Ready;
  }
}

/// All members of an exchange have to be there, with the same members.
void GridRun::checkMembers(const Thread &thread, uint32_t first, uint32_t end) {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (!(thread.members >> lane & 1))
      continue;
    uint32_t other = first + lane;
    if (other >= end || threads[other].state != State::AtExchange ||
        threads[other].members != thread.members)
      fail(thread, "exchanges a value with lanes of which thread " + std::to_string(other) +
                       " is not there");
  }
}

/// Gives a lane its partner's value.
void GridRun::receive(Thread &thread, uint32_t first) {
  auto isMember = [&](uint32_t other) {
    return other - first < lanes && (thread.members >> (other - first) & 1);
  };
  for (uint32_t other : {thread.thread, thread.partner})
    if (!isMember(other))
      fail(thread, "asks for the value of thread " + std::to_string(thread.partner) +
                       ", but thread " + std::to_string(other) + " is no member of the exchange");
  thread.received = threads[thread.partner].given;
}

void GridRun::resume(Thread &thread) {
  thread.fiber.resume();
  if (!problem.empty())
    fail(thread, std::exchange(problem, ""));
  if (std::memcmp(stacks->data() + thread.thread * stackBytes, &stackMark, sizeof stackMark) != 0)
    fail(thread, "needs a larger stack than the emulator gives");
}

void GridRun::fail(const Thread &thread, const std::string &what) {
  throw Error(describe(*function), "block " + std::to_string(thread.block) + ", thread " +
                                       std::to_string(thread.thread) + " " + what);
}

GridRun::Line &GridRun::line(uintptr_t address) {
  uintptr_t number = address / TouchMap::pageBytes;
  Line &line = lines[number % lines.size()];
  if (line.number == number)
    return line;
  line.number = number;
  uintptr_t begin = number * TouchMap::pageBytes;
  if (isShared(begin)) {
    uint64_t offset = begin - uintptr_t(shared->data());
    line.page = {0, 0, nullptr};
    if (offset < sharedBytes)
      line.page = {0, uint32_t(std::min(sharedBytes - offset, TouchMap::pageBytes)),
                   sharedWritten.at(offset)};
    line.touches = &sharedTouches.page(begin);
  } else {
    line.page = memory.page(begin);
    line.touches = line.page.isWritten ? &globalTouches.page(begin) : nullptr;
    if (function->parameter_bytes)
      narrow(line, address);
  }
  return line;
}

void GridRun::checkAccess(Thread &thread, const void *address, uint32_t bytes, uint32_t alignment,
                          bool isStore) {
  bool isAligned = uintptr_t(address) % alignment == 0;
  if (isAligned && passes(thread, address, bytes, isStore))
    return;
  if (isAtFault(thread, address, bytes, alignment, isStore))
    // Nothing can be thrown across a kernel's frames: the thread stays here for good, and so would
    // any object on its stack.
    thread.fiber.wait();
}

/// Whether there is nothing wrong with an access that is within a page and a word of bits.
bool GridRun::passes(Thread &thread, const void *address, uint32_t bytes, bool isStore) {
  Line &line = this->line(uintptr_t(address));
  uint32_t offset = uintptr_t(address) % TouchMap::pageBytes, bit = offset % 64;
  if (offset < line.page.begin || offset + bytes > line.page.end || bit + bytes > 64 || bytes == 64)
    return false;
  uint64_t mask = ((uint64_t(1) << bytes) - 1) << bit;
  uint64_t &written = line.page.isWritten[offset / 64];
  if (isStore)
    written |= mask;
  return (written & mask) == mask && !line.touches->touch(offset, bytes, thread.toucher, isStore);
}

/// Whether there is anything wrong with an access; then `problem` says what.
bool GridRun::isAtFault(Thread &thread, const void *address, uint32_t bytes, uint32_t alignment,
                        bool isStore) {
  std::string what = uintptr_t(address) % alignment
                         ? "is not aligned to " + std::to_string(alignment)
                         : problemOf(thread, address, bytes, isStore);
  if (what.empty())
    return false;
  char text[64];
  std::snprintf(text, sizeof text, "makes a %s of %u bytes at %p", isStore ? "store" : "load",
                bytes, address);
  problem = text + (" (" + placeOf(address) + ") that ") + what;
  return true;
}

/// In words; empty: nothing.
std::string GridRun::problemOf(Thread &thread, const void *address, uint32_t bytes, bool isStore) {
  uintptr_t at = uintptr_t(address), end = at + bytes;
  if (isShared(at)) {
    uint64_t offset = at - uintptr_t(shared->data());
    if (offset + bytes > sharedBytes)
      return "reaches beyond the block's shared memory";
    if (isStore)
      sharedWritten.set(offset, bytes);
    else if (sharedWritten.firstUnwritten(offset, bytes) != offset + bytes)
      return "reads shared memory that was never written";
  } else if (std::string what = memory.checkAccess(address, bytes, isStore); !what.empty()) {
    return what;
  } else if (!isInReach(at, end)) {
    return "is beyond what the kernel was given";
  }
  while (at < end) {
    uintptr_t next = std::min(end, (at / TouchMap::pageBytes + 1) * TouchMap::pageBytes);
    line(at).number = ~uintptr_t(0); // to look at the page again, around this address
    auto other = line(at).touches->touch(at % TouchMap::pageBytes, uint32_t(next - at),
                                         thread.toucher, isStore);
    if (other)
      return race(*other);
    at = next;
  }
  return "";
}

std::string GridRun::race(uint32_t other) const {
  return "races with block " + std::to_string(other / threads.size()) + ", thread " +
         std::to_string(other % threads.size()) + ": nothing orders the two";
}

/// Relative to shared memory or to the nearest parameter.
std::string GridRun::placeOf(const void *address) const {
  if (isShared(uintptr_t(address)))
    return "shared memory + " + std::to_string(uintptr_t(address) - uintptr_t(shared->data()));
  std::optional<size_t> nearest;
  auto distanceTo = [&](size_t i) {
    return static_cast<const char *>(address) - static_cast<const char *>((*parameters)[i]);
  };
  for (size_t i = 0; i < parameters->size(); ++i)
    if (!nearest || std::abs(distanceTo(i)) < std::abs(distanceTo(*nearest)))
      nearest = i;
  if (!nearest)
    return "no parameter";
  ptrdiff_t distance = distanceTo(*nearest);
  return "parameter " + std::to_string(*nearest) + (distance < 0 ? " - " : " + ") +
         std::to_string(std::abs(distance));
}

} // namespace halfstep::runtime

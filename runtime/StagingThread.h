//===- StagingThread.h - Filling slots ahead of their use ---------------------------*- C++ -*-===//
//
// Fills numbered slots in a thread of its own, one after the other, while the caller is busy.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_STAGINGTHREAD_H
#define HALFSTEP_RUNTIME_STAGINGTHREAD_H

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace halfstep::runtime {

class StagingThread {
public:
  /// `fill` is called with the slot to fill and may throw; it uses nothing that the caller of
  /// `begin` changes before `finish` or `cancel`. The thread starts with the first `begin`.
  StagingThread(size_t slots, std::function<void(size_t slot)> fill);
  StagingThread(const StagingThread &) = delete;
  StagingThread &operator=(const StagingThread &) = delete;
  /// Waits for the slot that is being filled.
  ~StagingThread();

  /// Lets a slot be filled, behind those begun before.
  void begin(size_t slot);
  /// Waits until the slot is full; throws what filling it threw.
  void finish(size_t slot);
  /// Waits for the slot that is being filled; what was begun behind it is not filled.
  void cancel();

private:
  void work();

  const std::function<void(size_t)> fill;
  std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::vector<size_t> begun; // the first one is being filled
  std::vector<std::exception_ptr> failures;
  bool ends = false;
  std::thread thread;
};

} // namespace halfstep::runtime

#endif

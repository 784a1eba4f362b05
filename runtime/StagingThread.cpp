//===- StagingThread.cpp - Filling slots ahead of their use -----------------------------------===//

#include "runtime/StagingThread.h"

#include <algorithm>

namespace halfstep::runtime {

StagingThread::StagingThread(size_t slots, std::function<void(size_t)> fill)
    : fill(std::move(fill)), failures(slots) {
  begun.reserve(slots); // no allocation in a step
}

StagingThread::~StagingThread() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_all();
  thread.join();
}

void StagingThread::begin(size_t slot) {
  {
    std::lock_guard lock(mutex);
    failures[slot] = nullptr;
    begun.push_back(slot);
  }
  changed.notify_all();
  if (!thread.joinable())
    thread = std::thread(&StagingThread::work, this);
}

void StagingThread::finish(size_t slot) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return std::find(begun.begin(), begun.end(), slot) == begun.end(); });
  if (failures[slot])
    std::rethrow_exception(failures[slot]);
}

void StagingThread::cancel() {
  std::unique_lock lock(mutex);
  begun.resize(std::min<size_t>(begun.size(), 1));
  changed.wait(lock, [&] { return begun.empty(); });
}

void StagingThread::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ends || !begun.empty(); });
    if (ends)
      return;
    size_t slot = begun.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      fill(slot);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failures[slot] = failure;
    begun.erase(begun.begin());
    changed.notify_all();
  }
}

} // namespace halfstep::runtime

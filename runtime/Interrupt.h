//===- Interrupt.h - SIGINT as a request --------------------------------------------*- C++ -*-===//
//
// SIGINT as a request: while an object lives, the first one is only noted, and the loops end after
// the step they are in; a second one ends the process at once.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_INTERRUPT_H
#define HALFSTEP_RUNTIME_INTERRUPT_H

#include <atomic>
#include <csignal>

namespace halfstep::runtime {

class Interrupt {
public:
  Interrupt() {
    flag = false;
    struct sigaction action = {};
    action.sa_handler = [](int) { flag = true; };
    action.sa_flags = SA_ONSTACK | SA_RESETHAND | SA_RESTART; // see SignalStack.h
    sigaction(SIGINT, &action, &previous);
  }
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;
  ~Interrupt() { sigaction(SIGINT, &previous, nullptr); }

  static bool requested() { return flag.load(std::memory_order_relaxed); }

private:
  // The signal may reach any thread.
  static inline std::atomic<bool> flag{false};
  static_assert(decltype(flag)::is_always_lock_free); // so that a handler may write it
  struct sigaction previous;
};

} // namespace halfstep::runtime

#endif

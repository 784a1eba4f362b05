//===- Interrupt.h - SIGINT as a request --------------------------------------------*- C++ -*-===//
//
// SIGINT as a request: while an object lives, the first one is only noted, and the loops end after
// the step they are in; a second one ends the process at once.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_INTERRUPT_H
#define HALFSTEP_RUNTIME_INTERRUPT_H

#include <csignal>

namespace halfstep::runtime {

class Interrupt {
public:
  Interrupt() {
    flag = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { flag = 1; };
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &action, &previous);
  }
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;
  ~Interrupt() { sigaction(SIGINT, &previous, nullptr); }

  static bool requested() { return flag != 0; }

private:
  static inline volatile sig_atomic_t flag = 0;
  struct sigaction previous;
};

} // namespace halfstep::runtime

#endif

//===- Fiber.h - a stack of its own for each emulated thread ------------------------*- C++ -*-===//
//
// Threads of a block wait for each other in the middle of a kernel. As fibers of one thread of the
// process they do so in nanoseconds, and in the order that the emulator wants.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_FIBER_H
#define HALFSTEP_RUNTIME_EMULATOR_FIBER_H

#include "runtime/Memory.h"

#include <cstddef>

namespace halfstep::runtime {

class Fiber {
public:
  using Body = void (*)(void *argument);

  /// Gets ready to run `body(argument)` on the stack that ends at `top`. The body may return.
  void prepare(char *top, Body body, void *argument);
  /// Runs the fiber until it waits or its body returns. Not from within another fiber.
  void resume();
  /// Back to the one who resumed the fiber, from within it.
  void wait();
  bool isDone() const { return done; }

private:
  static void begin(Fiber *self);

  void *own = nullptr, *caller = nullptr; // saved stack pointers
  Body body = nullptr;
  void *argument = nullptr;
  bool done = true;
};

} // namespace halfstep::runtime

#endif

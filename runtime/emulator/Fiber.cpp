//===- Fiber.cpp - a stack of its own for each emulated thread --------------------------------===//
//
// Switching saves what the System V calling convention of x86-64 lets a callee keep. swapcontext
// would also save the signal mask: a system call each time, forty times slower.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/emulator/Fiber.h"

namespace halfstep::runtime {

extern "C" void hs_switch_stack(void **saved, void *next);
asm(R"(
.text
.type hs_switch_stack, @function
hs_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hs_switch_stack, . - hs_switch_stack
.type hs_begin_fiber, @function
hs_begin_fiber:
  movq %r12, %rdi
  callq *%r13
  ud2
.size hs_begin_fiber, . - hs_begin_fiber
)");
extern "C" void hs_begin_fiber();

void Fiber::begin(Fiber *self) {
  self->body(self->argument);
  self->done = true;
  self->wait();
}

void Fiber::prepare(char *top, Body body, void *argument) {
  this->body = body;
  this->argument = argument;
  done = false;
  // What hs_switch_stack pops: r15, r14, r13, r12, rbx, rbp, then the address it returns to.
  // A call needs a multiple of 16 below it.
  void **stack = reinterpret_cast<void **>(top) - 9;
  stack[0] = stack[1] = nullptr;
  stack[2] = reinterpret_cast<void *>(&Fiber::begin);
  stack[3] = this;
  stack[4] = stack[5] = nullptr;
  stack[6] = reinterpret_cast<void *>(&hs_begin_fiber);
  stack[7] = nullptr;
  own = stack;
}

void Fiber::resume() { hs_switch_stack(&caller, own); }
void Fiber::wait() { hs_switch_stack(&own, caller); }

} // namespace halfstep::runtime

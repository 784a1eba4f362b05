//===- SignalStack.h - Where signal handlers find room ------------------------------*- C++ -*-===//
//
// Generated code of oneDNN moves the stack pointer to a workspace on the heap while it works. The
// frame of a signal that arrives then would be written in front of that workspace, over whatever
// the heap has there. So each thread that calls oneDNN has a stack for signals alone, and our
// handlers (SIGINT, SIGBUS) ask for it with SA_ONSTACK.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_SIGNALSTACK_H
#define HALFSTEP_RUNTIME_SIGNALSTACK_H

namespace halfstep::runtime {

/// Gives the calling thread an alternate signal stack for as long as it lives, unless it has one.
void provideSignalStack();

} // namespace halfstep::runtime

#endif

//===- signal_stack_test.cpp - Signals while oneDNN runs --------------------------------------===//

#include "runtime/OneDnn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

using namespace halfstep::runtime;

/// Who has called oneDNN takes signals on a stack for them, wherever its own stack pointer is.
TEST(SignalStack, IsThereForEveryThreadThatCalls) {
  static std::atomic<const char *> handlerStack;
  struct sigaction action = {}, previous;
  action.sa_handler = [](int) {
    char here;
    handlerStack = &here;
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &previous);
  std::thread([] {
    stack_t stack;
    sigaltstack(nullptr, &stack);
    EXPECT_TRUE(stack.ss_flags & SS_DISABLE);
    {
      OnOneThread guard;
    }
    sigaltstack(nullptr, &stack);
    ASSERT_FALSE(stack.ss_flags & SS_DISABLE);
    raise(SIGUSR1);
    auto *begin = static_cast<const char *>(stack.ss_sp);
    EXPECT_GE(handlerStack, begin);
    EXPECT_LT(handlerStack, begin + stack.ss_size);
  }).join();
  sigaction(SIGUSR1, &previous, nullptr);
}

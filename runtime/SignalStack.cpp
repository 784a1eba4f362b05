//===- SignalStack.cpp - Where signal handlers find room --------------------------------------===//

#include "runtime/SignalStack.h"

#include "runtime/Memory.h"

#include <csignal>
#include <optional>
#include <sys/auxv.h>

namespace halfstep::runtime {

namespace {
class SignalStack {
public:
  SignalStack() {
    stack_t present;
    if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE))
      return;
    // What the kernel saves, which grows with the CPU's registers, and what handlers need.
    constexpr uint64_t handlers = 16 << 10;
    memory.emplace("a signal stack", handlers + getauxval(AT_MINSIGSTKSZ));
    stack_t own = {};
    own.ss_sp = memory->data();
    own.ss_size = memory->bytes();
    sigaltstack(&own, nullptr);
  }
  SignalStack(const SignalStack &) = delete;
  SignalStack &operator=(const SignalStack &) = delete;
  ~SignalStack() {
    if (!memory)
      return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }

private:
  std::optional<Memory> memory;
};
} // namespace

void provideSignalStack() { thread_local SignalStack stack; }

} // namespace halfstep::runtime

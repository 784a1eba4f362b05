//===- Allocations.h - How often a test has allocated -------------------------------*- C++ -*-===//
//
// Replaces operator new for the program that includes it, once, and counts what is not allocated by
// oneDNN: within its calls it makes a few small blocks, which nobody else can provide.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_TESTS_RUNTIME_ALLOCATIONS_H
#define HALFSTEP_TESTS_RUNTIME_ALLOCATIONS_H

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>

static std::atomic<bool> isCounting = false; // who called is not looked up for nothing
static std::atomic<size_t> allocations = 0;

void *operator new(size_t bytes) {
  Dl_info caller;
  if (isCounting && (!dladdr(__builtin_return_address(0), &caller) ||
                     !std::strstr(caller.dli_fname, "libdnnl")))
    ++allocations;
  if (void *memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

/// The allocations while `run` runs.
template <typename F> size_t countAllocations(F run) {
  size_t before = allocations;
  isCounting = true;
  run();
  isCounting = false;
  return allocations - before;
}

#endif

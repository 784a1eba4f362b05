//===- Memory.h - Zeroed memory from the kernel -------------------------------------*- C++ -*-===//
//
// Memory straight from the kernel: zero, page-aligned, and free of cost until it is touched.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_MEMORY_H
#define HALFSTEP_RUNTIME_MEMORY_H

#include <cstdint>
#include <memory>
#include <string>

namespace halfstep::runtime {

class Memory {
public:
  /// Throws where the system has not enough; `what` names the memory then.
  Memory(const std::string &what, uint64_t bytes);
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory();

  char *data() const { return base; }
  uint64_t bytes() const { return size; }

  /// Makes all bytes zero again.
  void clear();

private:
  char *base = nullptr;
  uint64_t size = 0;
};

/// Scratch memory for each worker of a pool, as much as the most demanding user needs, in whole
/// pages.
class WorkerMemory {
public:
  explicit WorkerMemory(int workers) : count(workers) {}

  int workers() const { return count; }
  /// Of each worker.
  uint64_t bytes() const { return bytesEach; }
  /// Sees to it that each worker has that much; while nothing runs.
  void reserve(uint64_t bytes);
  char *at(int worker) const { return memory->data() + uint64_t(worker) * bytesEach; }

private:
  int count;
  uint64_t bytesEach = 0;
  std::unique_ptr<Memory> memory;
};

} // namespace halfstep::runtime

#endif

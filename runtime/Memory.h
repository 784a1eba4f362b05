//===- Memory.h - Zeroed memory from the kernel -------------------------------------*- C++ -*-===//
//
// Memory straight from the kernel: zero, page-aligned, and free of cost until it is touched.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_MEMORY_H
#define HALFSTEP_RUNTIME_MEMORY_H

#include <cstdint>
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

} // namespace halfstep::runtime

#endif

//===- DeviceMemory.h - What an emulated device has allocated -----------------------*- C++ -*-===//
//
// Device memory is host memory of which is known what belongs to an allocation and which bytes were
// ever written. Allocations are aligned as the driver promises, and not better; nothing lies right
// beside them.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_DEVICEMEMORY_H
#define HALFSTEP_RUNTIME_EMULATOR_DEVICEMEMORY_H

#include "runtime/Memory.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace halfstep::runtime {

/// Of each byte of a region: whether it was ever written.
class WrittenMap {
public:
  explicit WrittenMap(uint64_t bytes) : words(bytes / 64 + 1) {}

  void set(uint64_t begin, uint64_t bytes);
  void unset(uint64_t begin, uint64_t bytes);
  /// The first byte that was not written; `begin + bytes` if there is none.
  uint64_t firstUnwritten(uint64_t begin, uint64_t bytes) const;
  void copy(uint64_t begin, const WrittenMap &from, uint64_t fromBegin, uint64_t bytes);
  void clear() { std::fill(words.begin(), words.end(), 0); }
  /// A bit for each byte, from byte `begin` on, which is a multiple of 64.
  uint64_t *at(uint64_t begin) { return &words[begin / 64]; }

private:
  std::vector<uint64_t> words;
};

class DeviceMemory {
public:
  static constexpr uint64_t alignment = 256;

  /// Throws where the system has no more.
  void *allocate(uint64_t bytes);
  /// Whether `address` was the beginning of an allocation.
  bool release(void *address);
  /// Of the allocation that begins there; 0: none does.
  uint64_t sizeOf(const void *address) const;
  uint64_t allocatedBytes() const { return total; }

  /// Whether the bytes lie in one allocation.
  bool contains(const void *address, uint64_t bytes) const;
  /// What is wrong with an access to device memory, in words; empty: nothing. A store makes the
  /// bytes written ones.
  std::string checkAccess(const void *address, uint64_t bytes, bool isStore);
  /// Notes that bytes were written by a copy.
  void markWritten(const void *address, uint64_t bytes);
  /// And that they are as never written. They lie in an allocation.
  void markUnwritten(const void *address, uint64_t bytes);
  /// Notes that bytes were copied, and with them whether they were ever written. Both ranges lie in
  /// an allocation each.
  void markCopied(const void *target, const void *source, uint64_t bytes);

  /// What is known of a page of memory: which part of it is allocated, and a bit for each byte.
  struct Page {
    uint32_t begin, end;
    uint64_t *isWritten;
  };
  /// The page at a multiple of `pageBytes`; empty where nothing is allocated.
  static constexpr uint64_t pageBytes = 4096;
  Page page(uintptr_t address);

private:
  struct Allocation {
    uint64_t bytes;
    Memory memory; // with `alignment` bytes before and behind
    WrittenMap written;
    explicit Allocation(uint64_t bytes)
        : bytes(bytes), memory("emulated device memory", bytes + 2 * alignment),
          written(bytes + 2 * alignment + pageBytes) {}
    char *base() const { return memory.data() + alignment; }
    uint64_t offsetOf(const void *address) const {
      return uint64_t(static_cast<const char *>(address) - memory.data());
    }
  };
  Allocation *find(const void *address) const;

  std::map<uintptr_t, std::unique_ptr<Allocation>> allocations; // by address
  std::map<uintptr_t, uint64_t> released;                       // sizes, by address
  uint64_t total = 0;
};

} // namespace halfstep::runtime

#endif

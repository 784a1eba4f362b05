//===- Memory.cpp - Zeroed memory from the kernel ---------------------------------------------===//
//
// mmap, because calloc may hand out memory that was used before and then has to clear it.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Memory.h"

#include "runtime/Error.h"

#include <cstring>
#include <sys/mman.h>

namespace halfstep::runtime {

static constexpr uint64_t hugePagesFrom = 64 << 20;

Memory::Memory(const std::string &what, uint64_t bytes) : size(bytes) {
  if (bytes == 0)
    return;
  void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw systemError("", "cannot reserve " + std::to_string(bytes) + " bytes for " + what);
  base = static_cast<char *>(pages);
  // Huge pages make sweeps over large memory a fifth faster; small programs stay small without.
  if (bytes >= hugePagesFrom)
    madvise(pages, bytes, MADV_HUGEPAGE);
}

Memory::~Memory() {
  if (base)
    munmap(base, size);
}

// Gives the pages back; the kernel hands out zero pages in their place.
void Memory::clear() {
  if (base && madvise(base, size, MADV_DONTNEED) != 0)
    std::memset(base, 0, size);
}

void WorkerMemory::reserve(uint64_t bytes) {
  if (memory && bytes <= bytesEach)
    return;
  bytesEach = (bytes + 4095) / 4096 * 4096;
  memory = std::make_unique<Memory>("scratch", bytesEach * uint64_t(count));
}

} // namespace halfstep::runtime

//===- MemoryPlan.h - Offsets for values that live for a while ------------===//
//
// The arithmetic of memory planning, apart from any IR, so that it can be tested as a function:
//
//   LiveRange{bytes 100, entries 0 to 2}, {200, 1 to 3}, {100, 3 to 4}
//   -> offsets 0, 128, 0; peak 328: the first and the last share their bytes
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_MEMORYPLAN_H
#define HALFSTEP_PASSES_MEMORYPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace halfstep {

/// Something that occupies memory from its first to its last entry, both included.
struct LiveRange {
  uint64_t bytes;
  unsigned first, last;
  uint64_t alignment = 64; // a power of two

  bool overlaps(const LiveRange &other) const { return first <= other.last && other.first <= last; }
};

/// The entry at which most bytes are live, those bytes, and the ranges that they belong to. No plan
/// needs less memory.
struct MostLive {
  unsigned entry = 0;
  uint64_t bytes = 0;
  llvm::SmallVector<unsigned> ranges;
};
MostLive mostLive(llvm::ArrayRef<LiveRange> ranges);

struct MemoryPlan {
  llvm::SmallVector<uint64_t> offsets; // of each live range
  uint64_t peak = 0;                   // bytes from 0 to the end of the highest range
};

/// Gives each live range an offset such that no two that overlap in time overlap in memory.
/// Deterministic: equal input, equal plan. Quadratic in the number of ranges.
MemoryPlan plan(llvm::ArrayRef<LiveRange> ranges);

} // namespace halfstep

#endif

//===- MemoryPlan.cpp - Offsets for values that live for a while ----------===//
//
// Greedy by size: the largest range is placed first, each into the smallest gap between the ranges
// that it overlaps in time. From Pisarchyk and Lee, "Efficient Memory Management for Deep Neural
// Net Inference" (2020), algorithm 3; TensorFlow Lite's GreedyMemoryPlanner and IREE's LayoutSlices
// do the same. Optimal placement is NP-hard (dynamic storage allocation); on training steps this
// one comes within a few per cent of the lower bound, because the large activations nest.
//
//===----------------------------------------------------------------------===//

#include "passes/MemoryPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace halfstep {

MostLive mostLive(ArrayRef<LiveRange> ranges) {
  // Bytes grow only where a range begins, so that one of the beginnings is the busiest entry.
  SmallVector<std::pair<unsigned, uint64_t>> begins, ends; // entry, bytes
  for (const LiveRange &range : ranges) {
    begins.push_back({range.first, range.bytes});
    ends.push_back({range.last, range.bytes});
  }
  sort(begins);
  sort(ends);
  MostLive result;
  uint64_t live = 0;
  auto *end = ends.begin();
  for (auto [first, bytes] : begins) {
    for (; end->first < first; ++end)
      live -= end->second;
    live += bytes;
    if (live > result.bytes) {
      result.entry = first;
      result.bytes = live;
    }
  }
  for (auto [i, range] : enumerate(ranges))
    if (range.first <= result.entry && result.entry <= range.last)
      result.ranges.push_back(i);
  return result;
}

MemoryPlan plan(ArrayRef<LiveRange> ranges) {
  MemoryPlan result;
  result.offsets.resize(ranges.size());

  SmallVector<unsigned> bySize = to_vector(llvm::seq<unsigned>(0, ranges.size()));
  sort(bySize, [&](unsigned a, unsigned b) {
    return std::tuple(ranges[b].bytes, a) < std::tuple(ranges[a].bytes, b);
  });

  SmallVector<unsigned> placed; // by offset
  for (unsigned current : bySize) {
    const LiveRange &range = ranges[current];
    uint64_t end = 0; // of the ranges below the gap that is looked at
    uint64_t best = 0, smallestGap = UINT64_MAX;
    for (unsigned other : placed) {
      if (!range.overlaps(ranges[other]))
        continue;
      uint64_t begin = alignTo(end, range.alignment), next = result.offsets[other];
      if (begin + range.bytes <= next && next - begin < smallestGap) {
        best = begin;
        smallestGap = next - begin;
      }
      end = std::max(end, next + ranges[other].bytes);
    }
    uint64_t offset = smallestGap < UINT64_MAX ? best : alignTo(end, range.alignment);
    result.offsets[current] = offset;
    result.peak = std::max(result.peak, offset + range.bytes);
    placed.insert(upper_bound(placed, offset,
                              [&](uint64_t value, unsigned other) {
                                return value < result.offsets[other];
                              }),
                  current);
  }
  return result;
}

} // namespace halfstep

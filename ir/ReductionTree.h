//===- ReductionTree.h - the order in which a reduction combines its values ----------------===//
//
// Floating-point sums depend on their order, so the order is part of what a kernel means: it is
// given by the length of the reduced dimension alone. Vector width, number of threads, fusion and
// target are not in it. Both trees combine neighbours first, so every aligned power-of-two block
// of accumulators is a subtree: a CPU vector of any width, and a GPU thread, warp or block, each
// computes whole subtrees. A missing value is the identity of the operation (-0.0 for add).
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_REDUCTIONTREE_H
#define HALFSTEP_IR_REDUCTIONTREE_H

#include <algorithm>
#include <cstdint>

namespace halfstep::kernel {

/// The tree of a reduction over `last`. Consecutive values form chunks. Within a chunk, value i
/// belongs to accumulator i mod `accumulators`, which folds its values in ascending order; then
/// accumulators are combined in pairs, lowest index bit first. The chunks' results, when there are
/// several, are combined by the tree of their number.
struct RowTree {
  int64_t length;
  int64_t chunk;        ///< values in a chunk; the last one may be shorter
  int64_t chunks;       ///< at most 8192
  int64_t accumulators; ///< of a chunk: a power of two

  explicit RowTree(int64_t length) : length(length), chunk(1 << 14), accumulators(1) {
    while (length > chunk * 8192)
      chunk *= 2;
    chunks = (length + chunk - 1) / chunk;
    // 256 accumulators, then more as the length grows: 1, 2, 4 or 8 warps of 8 values a thread.
    int64_t most = length > 4096 ? 2048 : length > 2048 ? 1024 : length > 1024 ? 512 : 256;
    while (accumulators < std::min(length, most))
      accumulators *= 2;
  }
};

/// The tree of a reduction over `rows`, the same for every column. Leaves fold `leaf` consecutive
/// rows in ascending order; `leaves` leaves are combined in pairs, lowest index bit first: a chunk.
/// The chunks' results, when there are several, are combined by the tree of their number.
struct ColumnTree {
  static constexpr int64_t leaves = 8;
  int64_t rows;
  int64_t leaf;
  int64_t chunks; ///< at most 512

  explicit ColumnTree(int64_t rows)
      : rows(rows), leaf(rows <= 512 ? (rows + leaves - 1) / leaves
                                     : std::max<int64_t>(16, (rows + 4095) / 4096)),
        chunks((rows + leaves * leaf - 1) / (leaves * leaf)) {}
};

} // namespace halfstep::kernel

#endif // HALFSTEP_IR_REDUCTIONTREE_H

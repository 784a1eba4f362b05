//===- CpuReduction.h - the tree of a row, on vectors --------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CPUREDUCTION_H
#define HALFSTEP_CODEGEN_CPUREDUCTION_H

#include "codegen/KernelBuilder.h"

namespace halfstep::codegen {

/// Rows up to this length are one vector: their trees stay in registers.
constexpr int64_t shortRow = 32;

/// The columns of a row that a kernel goes through: all, or one part of several equal ones.
struct ColumnRange {
  int64_t length; ///< of the row
  int64_t parts;  ///< that the row is divided into
  int64_t partLength;
  Value part; ///< which one; none: the whole row
};

/// Calls tile(column, width) in ascending order for vectors of `width` columns, a power of two, and
/// for the narrower ones that the row's end needs.
void forTiles(KernelBuilder &b, const ColumnRange &range, int64_t width,
              llvm::function_ref<void(Value, int64_t)> tile);

/// Several reductions over the same row, computed by RowTree.
class RowReduction {
public:
  /// The values to be reduced, one vector a reduction, at `width` columns from `column` on.
  using Values = llvm::function_ref<SmallVector<Value>(Value column, int64_t width)>;

  RowReduction(KernelBuilder &b, mlir::Block *entry, int64_t width)
      : b(b), entry(entry), width(width) {}
  void add(kernel::ReduceKind kind, Type type) { reductions.push_back({kind, type}); }

  /// The results over a row of `length` values.
  SmallVector<Value> reduce(int64_t length, Values values);
  /// The results over chunk number `chunk` of such a row.
  SmallVector<Value> reduceChunk(int64_t length, Value chunk, Values values);

private:
  struct Reduction {
    kernel::ReduceKind kind;
    Type type;
  };
  void foldColumns(const ColumnRange &range, int64_t count, ArrayRef<Value> accumulators,
                   Values values);
  void storeColumns(const ColumnRange &range, int64_t count, ArrayRef<Value> accumulators,
                    Values values);
  Value combineAccumulators(Reduction reduction, Value accumulators, int64_t count);

  KernelBuilder &b;
  mlir::Block *entry; ///< of the function, for memory on the stack
  int64_t width;
  SmallVector<Reduction> reductions;
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CPUREDUCTION_H

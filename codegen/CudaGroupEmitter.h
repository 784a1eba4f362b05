//===- CudaGroupEmitter.h - a group's grid kernel, form by form ----------------------------===//

#ifndef HALFSTEP_CODEGEN_CUDAGROUPEMITTER_H
#define HALFSTEP_CODEGEN_CUDAGROUPEMITTER_H

#include "codegen/BodyEvaluation.h"
#include "codegen/EmitCuda.h"

namespace halfstep::codegen {

constexpr int64_t blockThreads = 256;
constexpr int64_t warpLanes = 32;
/// What a block has without asking the driver for more.
constexpr int64_t mostSharedBytes = 48 << 10;

/// What emitted CUDA kernels are written in beyond arithmetic.
class CudaBuilder : public KernelBuilder {
public:
  using KernelBuilder::KernelBuilder;

  /// Begins the function `name` over the addresses of `count` buffers, and leaves the builder
  /// before its return.
  void beginKernel(llvm::StringRef name, unsigned count, SmallVector<Value> &buffers);

  Value thread(); ///< its number in the block, i32
  Value block();
  /// An i32 that is not negative as a number of `type`.
  Value toIndex(Value value, Type type) {
    return value.getType() == type ? value : create<mlir::arith::ExtUIOp>(type, value).getResult();
  }
  /// The type to count up to `extent` in, and some way beyond: i32 where it can be, since an i64
  /// takes two registers.
  Type indexTypeFor(int64_t extent);
  void barrier();
  /// The value of the lane whose number differs in the bits of `mask`; the lanes that are
  /// `members`, a bit each, are all here.
  Value exchange(Value members, Value value, int64_t mask);
  /// Memory of the block: `count` elements.
  Value shared(Type type, int64_t count);
  int64_t sharedBytes() const { return allSharedBytes; } ///< of the whole kernel

  /// What `load` loads where `condition` holds, else zero; null: it always holds.
  Value loadIf(Value condition, llvm::function_ref<Value()> load);
  Value isBelow(Value x, int64_t bound); ///< both taken as unsigned
  Value isLess(Value x, Value y);        ///< signed
  Value both(Value x, Value y);          ///< either may be null: true
  template <typename Body> void when(Value condition, Body body) {
    if (!condition)
      return body();
    auto conditional = create<mlir::scf::IfOp>(condition, /*withElseRegion=*/false);
    InsertionGuard guard(*this);
    setInsertionPointToStart(conditional.thenBlock());
    body();
  }
  /// The body for each number below `extent`, one a thread; the grid that this takes.
  template <typename Body> Grid parallelFor(int64_t extent, Type indexType, Body body) {
    Value number =
        add(mul(toIndex(block(), indexType), blockThreads), toIndex(thread(), indexType));
    when(extent % blockThreads ? isBelow(number, extent) : Value(), [&] { body(number); });
    return {int64_t(llvm::divideCeil(extent, blockThreads)), blockThreads};
  }

private:
  mlir::Operation *function = nullptr;
  unsigned sharedCount = 0;
  int64_t allSharedBytes = 0;
};

/// The alignment in bytes, at most that of a 128-bit access, of `width` elements whose offset is a
/// sum of multiples of `width` and of the `strides`, among which its start may be.
int64_t alignmentFor(Type storage, int64_t width, ArrayRef<int64_t> strides);

class CudaGroupEmitter {
public:
  CudaGroupEmitter(CudaBuilder &b, kernel::GroupOp group);

  /// Emits the kernel; how it is launched.
  Grid emit();

private:
  /// Which of a tile's columns are in the row: all (both null), all or none (`whole`), or each by
  /// itself.
  struct Guard {
    Value whole;
    SmallVector<Value> each;
  };

  void emitMap();
  void emitTranspose();
  void emitRows();
  void emitColumns();

  /// The alignment of `width` columns of a buffer, from a multiple of `width` on, in every row.
  int64_t alignmentOf(unsigned buffer, int64_t width) const;
  Guard guardOf(Value column, int64_t width, int64_t columns, bool isInside);
  Tile tileAt(const Row &row, Value column, int64_t width, const Guard &guard);
  void storeTile(Tile &tile, const Row &row, Value column, int64_t width, const Guard &guard,
                 ArrayRef<KernelForm::Store> stores);
  Value position(int64_t value) { return b.constant(indexType, value); }

  CudaBuilder &b;
  KernelForm form;
  Type indexType; ///< i32 where every offset fits
  SmallVector<Value> buffers;
  ValueMap uniform;
  Grid grid{};
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CUDAGROUPEMITTER_H

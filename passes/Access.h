//===- Access.h - Values as strided views ---------------------------------===//
//
// Movement ops cost nothing where a reader can walk their operand with other strides, from another
// element on. An access names the value that is really in memory and how a view of it is walked.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_ACCESS_H
#define HALFSTEP_PASSES_ACCESS_H

#include "ir/Shape.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace halfstep {

using Sizes = llvm::SmallVector<int64_t>;

/// How memory is walked over some space, in elements.
struct Walk {
  Sizes strides; // one per dimension; 0 where elements repeat or the size is 1
  int64_t offset = 0;

  bool operator==(const Walk &other) const {
    return strides == other.strides && offset == other.offset;
  }
};

struct Access : Walk { // over the dimensions of the view
  mlir::Value root;    // behind no movement op; stored row-major
};

/// Whether the op only says how its operand is walked: reshape, transpose, broadcast, slice.
bool isMovement(mlir::Operation *op);

/// Row-major strides, 0 for dimensions of size 1.
Sizes rowMajor(llvm::ArrayRef<int64_t> sizes);

/// Looks through movement ops as far as strides can express them.
Access resolve(mlir::Value value);

/// The walk over the part, of `sizes`, that lies at `place` in what `whole` walks.
Walk walkPart(const Walk &whole, const train::Place &place, llvm::ArrayRef<int64_t> sizes);

/// Whether the view is a range of its root in row-major order.
bool isRange(const Access &access, llvm::ArrayRef<int64_t> sizes);
/// Whether a view of `type` begins where 128-bit accesses can, as what is stored by itself does:
/// tensor cores and libraries load whole vectors.
bool isAligned(const Access &access, mlir::RankedTensorType type);
/// Whether it is all of it.
bool isContiguous(const Access &access, llvm::ArrayRef<int64_t> sizes);

/// The strides of a view of sizes `from`, seen as sizes `to`; nullopt if no strides express it.
std::optional<Sizes> reshapeStrides(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> strides,
                                    llvm::ArrayRef<int64_t> to);

/// A copy of `value` in memory, row-major: a `train.map` that yields its operand.
mlir::Value createCopy(mlir::ImplicitLocOpBuilder &builder, mlir::Value value);

/// Whether all elements of `value` are one number that is known now: a splat constant, or an
/// elementwise op on such values, a few levels deep (seeds, counts).
bool isUniformConstant(mlir::Value value);

/// Whether readers compute `value` themselves, so that it is never in memory: a uniform constant,
/// or a number that follows in a few cheap steps from those and from scalars of state that the
/// program keeps (a gradient's seed from the loss scale). A launch would cost far more.
bool isComputedByReaders(mlir::Value value);

} // namespace halfstep

#endif

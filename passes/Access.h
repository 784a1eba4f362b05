//===- Access.h - Values as strided views ---------------------------------===//
//
// Movement ops cost nothing where a reader can walk their operand with other strides. An access
// names the value that is really in memory and how a view of it is walked.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_ACCESS_H
#define HALFSTEP_PASSES_ACCESS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace halfstep {

using Sizes = llvm::SmallVector<int64_t>;

struct Access {
  mlir::Value root; // behind no movement op; stored row-major
  Sizes strides;    // one per dimension of the view, in elements; 0 where it repeats or has size 1
};

/// Whether the op only says how its operand is walked: reshape, transpose, broadcast.
bool isMovement(mlir::Operation *op);

/// Row-major strides, 0 for dimensions of size 1.
Sizes rowMajor(llvm::ArrayRef<int64_t> sizes);

/// Looks through reshape, transpose and broadcast as far as strides can express them.
Access resolve(mlir::Value value);

/// Whether the view is all of its root in row-major order.
bool isContiguous(const Access &access, llvm::ArrayRef<int64_t> sizes);

/// The strides of a view of sizes `from`, seen as sizes `to`; nullopt if no strides express it.
std::optional<Sizes> reshapeStrides(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> strides,
                                    llvm::ArrayRef<int64_t> to);

/// Whether all elements of `value` are one number that is known now: a splat constant, or an
/// elementwise op on such values, a few levels deep (seeds, counts). Readers compute it themselves;
/// it is never in memory.
bool isUniformConstant(mlir::Value value);

} // namespace halfstep

#endif

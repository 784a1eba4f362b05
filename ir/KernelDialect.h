//===- KernelDialect.h - the kernel dialect ------------------------------------------------===//
//
// A group is built in one call; the body callback gets the elements of the arguments:
//
//   auto group = kernel::GroupOp::create(
//       builder, loc, "bias_relu", {16, 10},
//       {{f32, {10, 1}}, {f32, {0, 1}}},  // x, bias: storage type and strides
//       {kernel::Buffer{f32, {10, 1}}},   // one result of its own; 0u would update x in place
//       [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> { ... });
//
// Before buffers are planned, `splitReduction` cuts long reductions in two groups.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_KERNELDIALECT_H
#define HALFSTEP_IR_KERNELDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>
#include <variant>

namespace halfstep::kernel {

/// A buffer of a group: its storage type, one stride for each dimension, and the element that the
/// first point of the space has, counted in elements of what a launch passes.
struct Buffer {
  mlir::Type storage;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
};

/// The lowest and the highest element that a walk over `sizes` comes to.
std::pair<int64_t, int64_t> boundsOf(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                     int64_t offset);

} // namespace halfstep::kernel

#include "ir/KernelEnums.h.inc"

#include "ir/KernelDialect.h.inc"

#define GET_OP_CLASSES
#include "ir/KernelOps.h.inc"

namespace halfstep::kernel {

/// The type that an element of `storage` has inside a group: f32 for f16, bf16 and f32; i32 for
/// ui8 (zero-extended); i1 for i1 (stored as one byte); the type itself for f64, i8, i32 and i64.
/// Null for anything else: such a type cannot be stored.
mlir::Type computeType(mlir::Type storage);

/// What decides where in a walk over the space a value of a group's body can be computed.
class ValueAnalysis {
public:
  explicit ValueAnalysis(GroupOp group);

  /// Whether the value differs between points that differ in this dimension alone.
  bool varies(mlir::Value value, int64_t dimension) const {
    return info.lookup(value).dimensions >> dimension & 1;
  }
  /// The walk over the reduced dimension in which the value is known: 0 for what needs no
  /// reduction, one more than its operand's for a reduction's result.
  unsigned phase(mlir::Value value) const { return info.lookup(value).phase; }
  /// The number of walks that the group needs.
  unsigned walks() const { return walkCount; }
  /// The walk in which a result is stored: as soon as it is known, or in the last one if it updates
  /// an argument, which other walks may still read.
  unsigned storeWalk(unsigned result) const { return storeWalks[result]; }
  /// The last walk in which the value is computed, or the argument is read.
  unsigned lastWalk(mlir::Value value) const { return info.lookup(value).lastWalk; }

private:
  struct Info {
    uint64_t dimensions = 0; // a bit each
    unsigned phase = 0, lastWalk = 0;
  };
  llvm::DenseMap<mlir::Value, Info> info;
  llvm::SmallVector<unsigned> storeWalks; // a result each
  unsigned walkCount = 1;
};

/// Whether result number `result` may be planned in the same memory as argument number `argument`:
/// same type and walk, and the argument is not read again once the result is written.
bool canShare(GroupOp group, unsigned argument, unsigned result);

/// A reduction cut in two: where the arguments of the parts come from.
struct SplitReduction {
  GroupOp partial; ///< yields one value a chunk for each reduction, then the unreduced results
  GroupOp final;   ///< reads the partial values, then `finalArguments`; yields the reduced results
  llvm::SmallVector<unsigned> partialArguments; ///< indices into the original's arguments
  llvm::SmallVector<unsigned> finalArguments;   ///< likewise, behind the partial values
  unsigned partialValues;                       ///< how many: the reductions' number
  llvm::SmallVector<unsigned> partialResults;   ///< the original's results that `partial` yields
  llvm::SmallVector<unsigned>
      finalResults; ///< the original's results that `final` yields: reduced ones
};

/// Cuts a group into a partial and a final one where its reduction has several chunks: always for
/// `rows`; for `last` where there are too few rows to occupy threads and each reduction can be done
/// in one walk. The bits stay the same. The original is erased; the parts are `@NAME_partial` and
/// `@NAME`. nullopt: nothing to split, the group is as it was.
std::optional<SplitReduction> splitReduction(GroupOp group);

} // namespace halfstep::kernel

#endif // HALFSTEP_IR_KERNELDIALECT_H

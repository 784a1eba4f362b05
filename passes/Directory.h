//===- Directory.h - What functions say about the module's named memory ---===//
//
// Functions name what their arguments and results are by `train.*` attributes; the module's
// `table.tensor` and `table.region` ops are what those names stand for. Here the two meet, and here
// are the two rules about shared memory that hold before any planning: a `table.alias` is its
// source, and a result that updates an operand is that operand, later.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_DIRECTORY_H
#define HALFSTEP_PASSES_DIRECTORY_H

#include "ir/TableDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace halfstep {

/// The buffers of slices; input i has kInputs + i.
enum : uint64_t { kState, kArena, kInputs };

class Directory {
public:
  explicit Directory(mlir::ModuleOp module);

  /// The `table.tensor` or `table.region` that an argument or result with these attributes is, or
  /// null: it is none, or one that the module does not have.
  mlir::Operation *lookup(mlir::DictionaryAttr attributes) const;
  mlir::Operation *argument(mlir::func::FuncOp function, unsigned number) const;
  /// Whether the result is a gradient or a new value of state, as opposed to an output or a metric.
  static bool isUpdate(mlir::func::FuncOp function, unsigned result);
  /// Where such a result belongs; null for others.
  mlir::Operation *updatedBy(mlir::func::FuncOp function, unsigned result) const;
  table::RegionOp region(llvm::StringRef name) const { return regions.lookup(name); }

private:
  llvm::DenseMap<std::pair<unsigned, llvm::StringRef>, table::TensorOp> tensors; // by role and name
  llvm::StringMap<table::RegionOp> regions;
  table::TensorOp label;
};

/// The slice of a directory op; null before it has one.
table::SliceAttr sliceOf(mlir::Operation *named);
/// The type of a directory op.
mlir::RankedTensorType typeOf(mlir::Operation *named);

/// The value that `value` is an alias of, or itself.
mlir::Value viewed(mlir::Value value);
/// The slice of an alias of what lies in `slice`; null if that is.
table::SliceAttr sliceWithin(table::SliceAttr slice, mlir::Value alias);
/// The value whose memory `value` is: the first of those that alias or update one another.
mlir::Value storageOf(mlir::Value value);
/// The ops that read `value`: its users, and those of its aliases. Each once.
llvm::SmallVector<mlir::Operation *> readersOf(mlir::Value value);
/// The ops that read the memory of `storage`: its readers, and those of what updates it.
llvm::SmallVector<mlir::Operation *> readersOfStorage(mlir::Value storage);
/// Bytes that the value takes.
uint64_t bytesOf(mlir::Value value);

/// Whether two slices have bytes in common.
bool overlap(table::SliceAttr a, table::SliceAttr b);

} // namespace halfstep

#endif

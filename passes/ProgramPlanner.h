//===- ProgramPlanner.h - The slices of one program -----------------------===//
//
//   1. what a program returns becomes a value of its own: an argument, or a value returned twice,
//      is copied
//   2. a new value of state is computed right where the old one is, if nobody reads that any more;
//      else it is copied there in the end
//   3. a kernel's result takes over the memory of an operand that dies there, if the kernel works
//      point by point (kernel::canShare)
//   4. what is left lives in the arena for a range of entries (MemoryPlan.h)
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_PROGRAMPLANNER_H
#define HALFSTEP_PASSES_PROGRAMPLANNER_H

#include "passes/Directory.h"
#include "passes/InPlaceKernels.h"
#include "passes/MemoryPlan.h"

namespace halfstep {

class ProgramPlanner {
public:
  /// The directory has slices for all state and inputs. `reuse` false: every value gets bytes of
  /// its own and no kernel works in place. Adds to `sharings` which launches work in place.
  ProgramPlanner(mlir::func::FuncOp program, const Directory &directory, bool reuse,
                 Sharings &sharings);

  /// Writes the slices on the entries. Fails, with an error, where an argument or result does not
  /// fit the directory.
  mlir::LogicalResult run();

  uint64_t arenaBytes() const { return arena.peak; }
  table::SliceAttr sliceOf(mlir::Value value) const {
    return sliceWithin(slices.lookup(storageOf(value)), value);
  }

private:
  /// Bytes of the arena: one value's, or several values' that succeed each other in place.
  struct Storage {
    LiveRange range;
    llvm::SmallVector<mlir::Value> values;
  };

  mlir::InFlightDiagnostic error(llvm::StringRef what, unsigned number);
  mlir::LogicalResult bindArguments();
  void copyReturnedArguments();
  mlir::LogicalResult placeUpdates();
  bool computeInto(mlir::OpResult value, table::SliceAttr slice);
  void assignStorages();
  LiveRange liveRange(mlir::Value storage) const;
  Storage *arenaStorage(mlir::Value value);
  std::optional<unsigned> dyingOperand(mlir::OpResult result);
  void writeSlices();

  mlir::func::FuncOp program;
  const Directory &directory;
  bool reuse;
  Sharings &sharings;
  mlir::Operation *terminator;
  llvm::DenseMap<mlir::Value, table::SliceAttr> slices; // of values that own memory
  llvm::DenseMap<mlir::Operation *, unsigned> position; // of entries and the terminator
  llvm::SmallVector<Storage> storages;
  llvm::DenseMap<mlir::Value, unsigned> storageIndex;
  MemoryPlan arena;
};

} // namespace halfstep

#endif

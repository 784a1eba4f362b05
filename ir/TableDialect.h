//===- TableDialect.h - What a step does, in order ------------------------===//

#ifndef HALFSTEP_IR_TABLEDIALECT_H
#define HALFSTEP_IR_TABLEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/TableDialect.h.inc"
#include "ir/TableEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TableAttributes.h.inc"
#define GET_OP_CLASSES
#include "ir/TableOps.h.inc"

namespace halfstep::table {

/// Bytes of a tensor in storage: a boolean takes one.
uint64_t storageBytes(mlir::RankedTensorType type);

/// What cuBLASLt's workspace begins at a multiple of.
inline constexpr uint64_t kWorkspaceAlignment = 256;

/// Whether a value is memory that a library call may use, and holds nothing.
bool isWorkspace(mlir::Value value);

/// The closed interval that a range is, ending at the next f64 where the range is open, and what is
/// said of a value outside it.
struct Bounds {
  double smallest, largest;
  llvm::StringLiteral requirement;

  bool contain(double value) const { return value >= smallest && value <= largest; }
};
Bounds boundsOf(Range range);

/// Staging slots that an input may have: more would hide a unit mixed up, not a slow disk.
inline constexpr int64_t kMostInputSlots = 64;

/// Discardable attributes of the module.
namespace attr {
inline constexpr llvm::StringLiteral kPhase = "halfstep.phase";              // last finished phase
inline constexpr llvm::StringLiteral kSource = "halfstep.source";            // the ONNX file
inline constexpr llvm::StringLiteral kGraphHash = "halfstep.graph_hash";     // hexadecimal
inline constexpr llvm::StringLiteral kRecipe = "halfstep.recipe";            // JSON
inline constexpr llvm::StringLiteral kStateBytes = "halfstep.state_bytes";   // i64
inline constexpr llvm::StringLiteral kArenaBytes = "halfstep.arena_bytes";   // i64
inline constexpr llvm::StringLiteral kScratchBytes = "halfstep.scratch_bytes"; // i64, of a thread
inline constexpr llvm::StringLiteral kInputSlots = "halfstep.input_slots";   // i64
inline constexpr llvm::StringLiteral kMicroBatches = "halfstep.micro_batches"; // i64
} // namespace attr

} // namespace halfstep::table

#endif

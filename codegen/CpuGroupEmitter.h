//===- CpuGroupEmitter.h - a group's kernel, form by form ----------------------------------===//

#ifndef HALFSTEP_CODEGEN_CPUGROUPEMITTER_H
#define HALFSTEP_CODEGEN_CPUGROUPEMITTER_H

#include "codegen/BodyEvaluation.h"
#include "codegen/CpuReduction.h"
#include "codegen/EmitCpu.h"

namespace halfstep::codegen {

constexpr int64_t columnBlock = 512;  ///< columns in a unit of Form::Columns
constexpr int64_t transposeBand = 64; ///< rows in a unit of Form::Transpose

/// Begins `void name(void *const *buffers, int64_t lo, int64_t hi)`, leaves the builder before its
/// return, and gives its entry block and the buffers' addresses.
mlir::Block *beginKernel(KernelBuilder &b, llvm::StringRef name, unsigned count,
                         SmallVector<Value> &buffers);

/// The division into tasks of `units` equal units that are `operations` operations in all.
Work divideWork(int64_t units, int64_t operations);

class CpuGroupEmitter {
public:
  CpuGroupEmitter(KernelBuilder &b, kernel::GroupOp group);

  void emit();
  Work work() const;

private:
  int64_t units() const;

  // A unit of each form.
  void emitMapUnit(Value unit);
  void emitTransposeUnit(Value unit);
  void emitRowUnit(Value unit);
  void emitColumnUnit(Value unit);

  void emitSquare(Value firstRow, Value column);
  SmallVector<Value> transpose(SmallVector<Value> vectors);

  void emitShortRows(Value firstRow, int64_t count);
  void emitLongRow(Row &row, Value chunk);
  void storeRow(Row &row, Value chunk);
  void chooseKeptValues();
  Tile walkTile(const Row &row, Value column, int64_t width, unsigned walk);

  /// Rows of at most `shortRow` columns are computed in blocks: of as many rows as fill eight
  /// registers of 16 f32 lanes.
  bool hasShortRows() const { return form.columns <= shortRow; }
  int64_t lastOuter() const { return form.outer.empty() ? 1 : form.outer.back(); }
  int64_t blockRows() const {
    return std::min<int64_t>(8, 128 / int64_t(llvm::PowerOf2Ceil(form.columns)));
  }

  KernelBuilder &b;
  KernelForm form;
  int64_t width; ///< columns at a time
  SmallVector<Value> buffers;
  ValueMap uniform;
  ValueMap kept; ///< costly values of one walk, and where a row of them is kept for later walks
  mlir::Block *entry = nullptr;
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CPUGROUPEMITTER_H

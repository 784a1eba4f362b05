//===- BodyEvaluation.h - a group's body at a row, and at a vector of columns ---------------===//
//
// A kernel evaluates the body by cloning its operations: once a row for what does not differ from
// column to column, on vectors for the rest, in whatever walk needs it. Values are remembered, so
// that each is computed once for the columns at hand.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_BODYEVALUATION_H
#define HALFSTEP_CODEGEN_BODYEVALUATION_H

#include "codegen/KernelBuilder.h"
#include "codegen/KernelForm.h"

#include "llvm/ADT/MapVector.h"

#include <functional>

namespace halfstep::codegen {

using ValueMap = llvm::MapVector<Value, Value>; // in order: code must not depend on addresses

/// A row of the space: the buffers' addresses there, and the values that it has one of.
class Row {
public:
  /// `row` counts the points of the outer dimensions; `depth` is the position in the reduced
  /// dimension of Form::Columns. `uniform` holds what is the same in every row. Of `buffers`, those
  /// are null that a kernel has no memory for.
  Row(KernelBuilder &b, const KernelForm &form, ValueRange buffers, const ValueMap &uniform,
      Value row, Value depth = Value());

  /// Computes the row's values that are known in `walk`, or in one before it.
  void computeValues(KernelBuilder &b, unsigned walk);

  /// Where a view is in this row, in elements from its start; null at the start.
  Value offset(KernelBuilder &b, const View &view) const;

  /// Moves to a position in the reduced dimension.
  void advanceDepth(KernelBuilder &b, Value position);

  const KernelForm &form;
  SmallVector<Value> pointers;
  ValueMap values;
  SmallVector<Value> positions; ///< in the outer dimensions
  Value depth;
};

/// Neighbouring rows, whose own values are computed as vectors: one lane a row.
class RowBlock {
public:
  /// The rows are neighbours along the last outer dimension.
  RowBlock(KernelBuilder &b, const KernelForm &form, ValueRange buffers, const ValueMap &uniform,
           Value firstRow, int64_t count);

  /// A value that each row has one of.
  Value get(KernelBuilder &b, Value value);
  /// Says what a value is, in place of computing it.
  void set(Value value, Value known) { computed[value] = known; }
  /// Gives the rows their values that are known in `walk`, or in one before it.
  void giveToRows(KernelBuilder &b, unsigned walk);
  /// Computes every store's value, then stores them.
  void store(KernelBuilder &b, ArrayRef<KernelForm::Store> stores);

  SmallVector<Row> rows;

private:
  int64_t rowStride(unsigned buffer) const {
    return form.outer.empty() ? 0 : form.buffers[buffer].outer.back();
  }

  const KernelForm &form;
  ValueMap computed;
};

/// `width` neighbouring columns of a row, from column `column` on.
class Tile {
public:
  /// Reads a buffer's elements at the tile's columns, in their compute type.
  using Loader = std::function<Value(KernelBuilder &, unsigned buffer)>;

  /// Without a `loader` all columns are in the row, and a plain access reads them.
  Tile(const Row &row, Value column, int64_t width, Loader loader = {})
      : row(row), column(column), width(width), loader(std::move(loader)) {}

  /// The value at the tile's columns, computed where the builder stands.
  Value get(KernelBuilder &b, Value value);
  /// Says what a value is, in place of computing it.
  void set(Value value, Value known) { computed[value] = known; }
  /// Computes every store's value, then stores them: a buffer may be updated in place.
  void store(KernelBuilder &b, ArrayRef<KernelForm::Store> stores);
  /// The address of a buffer's element at the tile's first column.
  Value address(KernelBuilder &b, unsigned buffer) const;

private:
  const Row &row;
  Value column;
  int64_t width;
  Loader loader;
  ValueMap computed;
};

/// The values that are the same at every point of the space: computed once a call.
ValueMap computeUniformValues(KernelBuilder &b, const KernelForm &form, ValueRange buffers);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_BODYEVALUATION_H

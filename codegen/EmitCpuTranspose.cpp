//===- EmitCpuTranspose.cpp - maps with a transposed buffer --------------------------------===//
//
// A unit is a band of rows. It is gone through in squares, which are loaded along the rows of the
// transposed buffer and turned in registers by interleaving halves, log2(side) times.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CpuGroupEmitter.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

/// The side of a square: the vectors of one fit the registers.
static constexpr int64_t side = 16;

void CpuGroupEmitter::emitTransposeUnit(Value unit) {
  int64_t inner = form.outer.back(), bands = llvm::divideCeil(inner, transposeBand);
  Value base = b.mul(b.divide(unit, bands), inner);
  Value from = b.mul(b.remainder(unit, bands), transposeBand);
  Value to = b.smaller(b.add(from, transposeBand), b.constant(inner));
  Value toSquare = b.smaller(to, b.constant(inner - inner % side));
  int64_t columns = form.columns - form.columns % side;
  b.loop(b.constant(0), b.constant(columns), side, [&](Value column) {
    b.loop(from, toSquare, side, [&](Value row) { emitSquare(b.add(base, row), column); });
  });
  // What is left over at the right and at the bottom, point by point.
  auto emitPoints = [&](Value fromRow, int64_t fromColumn, int64_t toColumn) {
    b.loop(fromRow, to, 1, [&](Value i) {
      Row row(b, form, buffers, uniform, b.add(base, i));
      row.computeValues(b, 0);
      b.loop(b.constant(fromColumn), b.constant(toColumn), 1,
             [&](Value column) { Tile(row, column, 1).store(b, form.elementStores(0)); });
    });
  };
  if (columns < form.columns)
    emitPoints(from, columns, form.columns);
  if (inner % side)
    emitPoints(toSquare, 0, columns);
}

void CpuGroupEmitter::emitSquare(Value firstRow, Value column) {
  SmallVector<Row> rows;
  for (int64_t i = 0; i < side; ++i) {
    rows.emplace_back(b, form, buffers, uniform, b.add(firstRow, i));
    rows.back().computeValues(b, 0);
  }
  SmallVector<Tile> tiles;
  for (Row &row : rows)
    tiles.emplace_back(row, column, side);
  for (BlockArgument argument : GroupOp(form.group).getBlock().getArguments()) {
    const View &view = form.buffers[argument.getArgNumber()];
    if (view.inner < 2 || view.outer.back() != 1)
      continue;
    SmallVector<Value> vectors;
    for (int64_t j = 0; j < side; ++j) {
      Value index = b.mul(b.add(column, j), view.inner);
      Value pointer = b.element(rows[0].pointers[argument.getArgNumber()], view.storage, index);
      vectors.push_back(b.loadRaw(pointer, view.storage, side));
    }
    vectors = transpose(vectors);
    for (auto [tile, vector] : llvm::zip(tiles, vectors))
      tile.set(argument, b.widen(vector, view.storage));
  }
  for (Tile &tile : tiles)
    tile.store(b, form.elementStores(0));
}

SmallVector<Value> CpuGroupEmitter::transpose(SmallVector<Value> vectors) {
  // Interleaving vector i with vector i + side/2 rotates the index bits (row, lane) by one.
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < side / 2; ++i) {
    low.append({i, i + side});
    high.append({i + side / 2, i + side / 2 + side});
  }
  for (int64_t level = 1; level < side; level *= 2) {
    SmallVector<Value> interleaved;
    for (int64_t i = 0; i < side / 2; ++i) {
      interleaved.push_back(b.shuffle(vectors[i], vectors[i + side / 2], low));
      interleaved.push_back(b.shuffle(vectors[i], vectors[i + side / 2], high));
    }
    vectors = interleaved;
  }
  return vectors;
}

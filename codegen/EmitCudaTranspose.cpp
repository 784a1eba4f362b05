//===- EmitCudaTranspose.cpp - maps with a transposed buffer -------------------------------===//
//
// A block goes through a square of the space. Buffers that are contiguous along the rows are first
// brought into shared memory with lanes along the rows, then read from there with lanes along the
// columns: both accesses to global memory are coalesced. A row of shared memory is longer than the
// square by a word, which spreads a column over the banks.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaGroupEmitter.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

void CudaGroupEmitter::emitTranspose() {
  constexpr int64_t wordBits = 32;
  constexpr int64_t bandRows = blockThreads / warpLanes; // that the block's warps are on at a time
  int64_t inner = form.outer.back();
  int64_t narrowest = wordBits;
  for (const View &view : form.buffers)
    if (view.inner)
      narrowest = std::min<int64_t>(narrowest, std::max(8u, view.storage.getIntOrFloatBitWidth()));
  int64_t width = wordBits / narrowest; // elements of a lane: a word of the narrowest
  auto isTransposed = [](const View &view) { return view.inner >= 2 && view.outer.back() == 1; };
  auto arguments = ArrayRef(form.buffers).take_front(form.group.getBlock().getNumArguments());
  auto sharedBytes = [&] {
    int64_t bytes = 0;
    for (const View &view : make_filter_range(arguments, isTransposed))
      bytes += warpLanes * width * (warpLanes + 1) * width * bytesOf(view.storage);
    return bytes;
  };
  while (form.columns % width || inner % width || (width > 1 && sharedBytes() > mostSharedBytes))
    width /= 2;
  int64_t side = warpLanes * width, pitch = side + width;
  int64_t squaresDown = llvm::divideCeil(inner, side);
  int64_t squaresAcross = llvm::divideCeil(form.columns, side);
  grid = {form.rows / inner * squaresDown * squaresAcross, blockThreads};

  Value number = b.toIndex(b.block(), indexType), thread = b.toIndex(b.thread(), indexType);
  Value firstColumn = b.mul(b.remainder(number, squaresAcross), side);
  Value firstRow = b.mul(b.remainder(b.divide(number, squaresAcross), squaresDown), side);
  Value base = b.mul(b.divide(number, squaresAcross * squaresDown), inner);
  Value lane = b.remainder(thread, warpLanes), warp = b.divide(thread, warpLanes);
  Value along = b.mul(lane, width);
  auto isInside = [&](Value row, Value column) {
    Value rowIs = inner % side ? b.isBelow(row, inner) : Value();
    return b.both(rowIs, form.columns % side ? b.isBelow(column, form.columns) : Value());
  };

  uniform = computeUniformValues(b, form, buffers);
  Row corner(b, form, buffers, uniform, base);
  ValueMap squares; // [column][row], by the argument
  for (BlockArgument argument : GroupOp(form.group).getBlock().getArguments()) {
    unsigned buffer = argument.getArgNumber();
    const View &view = form.buffers[buffer];
    if (!isTransposed(view))
      continue;
    Type storage = view.storage;
    Type held = storage.isInteger(1) ? Type(b.getI8Type()) : storage;
    Value square = squares[argument] = b.shared(held, side * pitch);
    SmallVector<int64_t> strides(ArrayRef(view.outer).drop_back());
    strides.append({view.inner, GroupOp(form.group).getBufferOffset(buffer)});
    int64_t alignment = alignmentFor(storage, width, strides);
    Value row = b.add(firstRow, along);
    for (int64_t down = 0; down < side; down += bandRows) {
      Value across = b.add(warp, down), column = b.add(firstColumn, across);
      b.when(isInside(row, column), [&] {
        Value from =
            b.element(corner.pointers[buffer], storage, b.add(b.mul(column, view.inner), row));
        Value to = b.element(square, storage, b.add(b.mul(across, pitch), along));
        b.create<LLVM::StoreOp>(b.loadRaw(from, storage, width, alignment), to);
      });
    }
  }
  b.barrier();
  for (int64_t down = 0; down < side; down += bandRows) {
    Value ofSquare = b.add(warp, down), rowNumber = b.add(firstRow, ofSquare);
    Value column = b.add(firstColumn, along);
    b.when(isInside(rowNumber, column), [&] {
      Row row(b, form, buffers, uniform, b.add(base, rowNumber));
      row.computeValues(b, 0);
      Tile tile = tileAt(row, column, width, Guard());
      for (auto [argument, square] : squares) {
        Type storage = form.buffers[cast<BlockArgument>(argument).getArgNumber()].storage;
        Value values;
        for (int64_t i = 0; i < width; ++i) {
          Value at = b.add(b.mul(b.add(along, i), pitch), ofSquare);
          Value one = b.loadRaw(b.element(square, storage, at), storage, 0);
          values =
              values ? b.create<vector::InsertOp>(one, values, i).getResult() : b.splat(one, width);
        }
        tile.set(argument, b.widen(values, storage));
      }
      storeTile(tile, row, column, width, Guard(), form.elementStores(0));
    });
  }
}

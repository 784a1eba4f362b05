//===- EmitCudaConvTensorCores.cpp - convolutions of 16 bits with channels last -------------===//
//
// The product of CudaConvProduct.h on tensor cores, with channels as the columns of its result:
// two neighbouring ones are in one thread. Both factors lie as they are in memory, 16 bytes are
// eight channels of one pixel, so that what is contiguous is the depth or not; ldmatrix transposes
// on the way where it is not:
//
//   forward          patches [pixel][channel] x filters [channel][point, input channel]
//   input gradient   patches [pixel][channel] x filters [output channel][point, channel]
//   weight gradient  dy [pixel][channel] x patches [pixel][channel]
//
// Copies run two steps of the depth ahead of the products, in a ring of three stages (CUTLASS's
// multistage pipeline); a block meets once a step, when what it reads next is there and what it
// overwrites next has been read. In a row of shared memory, 16-byte chunks are permuted by the
// row's number: the eight rows that ldmatrix reads at once lie in different banks.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaConvKernels.h"
#include "codegen/CudaTensorCores.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

static constexpr int64_t chunkBytes = 16, chunk = 8; // elements
static constexpr int64_t stepDepth = 32, stages = 3;
static constexpr int64_t mmaRows = 16, mmaColumns = 8, mmaDepth = 16;
static constexpr int64_t threads = 128;

bool halfstep::codegen::isForTensorCores(const hs_conv &conv) {
  bool isHalf = conv.a_type == HS_F16 || conv.a_type == HS_BF16;
  return isHalf && conv.channels_last && conv.input_channels % chunk == 0 &&
         conv.output_channels % chunk == 0;
}

namespace {
/// What a block computes at a time, and which part of it each of its four warps does.
struct Tile {
  Tile(int64_t wantedRows, int64_t wantedColumns)
      : rows(wantedRows <= 64 ? 64 : 128), columns(wantedColumns <= 32   ? 32
                                                   : wantedColumns <= 64 ? 64
                                                                         : 128),
        warpRows(columns == 32 ? rows / 4 : rows / 2),
        warpColumns(std::max<int64_t>(32, columns / 2)) {}

  int64_t rows, columns, warpRows, warpColumns;
};

/// A factor's part of a stage in shared memory: rows of chunks, of the depth or across it.
struct Part {
  Part(const ConvProduct::Factor &factor, Value first, int64_t outer, int64_t offset)
      : factor(factor), first(first), outer(outer), offset(offset),
        rowChunks((factor.isContiguousInDepth ? stepDepth : outer) / chunk) {}

  int64_t bytes() const { return outer * stepDepth * 2; }

  const ConvProduct::Factor &factor;
  Value first;
  int64_t outer, offset; // bytes from the stage's beginning
  int64_t rowChunks;
};

class TensorCoreEmitter {
public:
  explicit TensorCoreEmitter(ConvProduct &product)
      : product(product), b(product.b), tile(product.rows(), product.columns()) {}

  Grid emit(StringRef name);

private:
  Value place(const Part &part, Value row, Value inRow);
  void copy(const Part &part, Value depth, Value stage);
  SmallVector<Value> load(const Part &part, Value stage, Value firstOuter, int64_t outer,
                          int64_t depth, bool isLeft);
  SmallVector<Value> multiply(Value stage, SmallVector<Value> sums);
  void store(ArrayRef<Value> sums);
  /// The sums of a 16x8 part of the warp's tile: the first of four.
  size_t sumsOf(int64_t row, int64_t column) const {
    return (column / mmaColumns * (tile.warpRows / mmaRows) + row / mmaRows) * 4;
  }
  Value bits(Value x, int64_t shift, int64_t count) {
    Value high = b.create<arith::ShRUIOp>(x, word(shift));
    return b.create<arith::AndIOp>(high, word((1 << count) - 1));
  }
  Value word(int64_t value) { return b.constant(b.getI32Type(), value); }
  Value address(Value stage, Value offset, int64_t fixed);

  ConvProduct &product;
  CudaBuilder &b;
  const Tile tile;
  std::optional<Part> left, right;
  Value shared, thread, lane, warpRow, warpColumn;
};
} // namespace

/// Constants stay in an address of their own: added as integers to offsets whose low bits are free,
/// they would become bits that no instruction's address takes.
Value TensorCoreEmitter::address(Value stage, Value offset, int64_t fixed) {
  Value at = b.element(shared, b.getI8Type(), b.add(stage, offset));
  return fixed ? b.element(at, b.getI8Type(), word(fixed)) : at;
}

/// Where a chunk of a part's row is, in bytes from its beginning.
Value TensorCoreEmitter::place(const Part &part, Value row, Value inRow) {
  // Rows of 64 bytes: two of them go over all banks.
  Value permutation = part.rowChunks == 4 ? bits(row, 1, 2) : bits(row, 0, 3);
  Value permuted = b.create<arith::XOrIOp>(inRow, permutation);
  return b.add(b.mul(row, part.rowChunks * chunkBytes), b.mul(permuted, chunkBytes));
}

/// Begins to copy a step of the depth.
void TensorCoreEmitter::copy(const Part &part, Value depth, Value stage) {
  const ConvProduct::Factor &factor = part.factor;
  for (int64_t passed = 0; passed < part.bytes() / chunkBytes; passed += threads) {
    Value number = b.add(thread, passed);
    Value row = b.divide(number, part.rowChunks), inRow = b.remainder(number, part.rowChunks);
    auto at = [&](Value first, Value offset) {
      return b.add(first, b.toIndex(offset, product.indexType));
    };
    Value inChunks = b.mul(inRow, chunk);
    Value outerAt = at(part.first, factor.isContiguousInDepth ? row : inChunks);
    Value depthAt = at(depth, factor.isContiguousInDepth ? inChunks : row);
    Element from = factor.locate(outerAt, depthAt);
    if (factor.outer % part.outer)
      from.isThere = b.both(from.isThere, b.isBelow(outerAt, factor.outer));
    from.isThere = b.both(from.isThere, b.isLess(depthAt, product.endDepth));
    Value offset = b.create<arith::SelectOp>(from.isThere, from.offset, product.number(0));
    copyAsync(b, address(stage, place(part, row, inRow), part.offset),
              b.element(factor.pointer, product.storage, offset), from.isThere);
  }
}

/// Registers of a 16x16 piece of a factor, `outer` and `depth` from the warp's first on: a left
/// one, or two right ones, one behind the other.
SmallVector<Value> TensorCoreEmitter::load(const Part &part, Value stage, Value firstOuter,
                                           int64_t outer, int64_t depth, bool isLeft) {
  // Four 8x8 matrices: of a left factor, outer goes first; of right ones, depth.
  Value inMatrix = bits(lane, 0, 3), low = bits(lane, 3, 1), high = bits(lane, 4, 1);
  Value outerHalf = isLeft ? low : high, depthHalf = isLeft ? high : low;
  auto chunkOf = [&](Value half, int64_t first) { return b.add(half, first / chunk); };
  if (part.factor.isContiguousInDepth) {
    Value row = b.add(b.add(firstOuter, b.mul(outerHalf, 8)), inMatrix);
    return loadMatrices(b,
                        address(stage, place(part, row, chunkOf(depthHalf, depth)),
                                part.offset + outer * part.rowChunks * chunkBytes),
                        /*isTransposed=*/false);
  }
  Value row = b.add(b.mul(depthHalf, 8), inMatrix);
  Value inRow = b.add(b.divide(firstOuter, chunk), chunkOf(outerHalf, outer));
  return loadMatrices(
      b, address(stage, place(part, row, inRow), part.offset + depth * part.rowChunks * chunkBytes),
      /*isTransposed=*/true);
}

SmallVector<Value> TensorCoreEmitter::multiply(Value stage, SmallVector<Value> sums) {
  for (int64_t depth = 0; depth < stepDepth; depth += mmaDepth) {
    SmallVector<SmallVector<Value>> lefts;
    for (int64_t row = 0; row < tile.warpRows; row += mmaRows)
      lefts.push_back(load(*left, stage, warpRow, row, depth, /*isLeft=*/true));
    for (int64_t column = 0; column < tile.warpColumns; column += 2 * mmaColumns) {
      SmallVector<Value> both = load(*right, stage, warpColumn, column, depth, /*isLeft=*/false);
      for (int64_t second : {0, 1})
        for (auto [i, registers] : llvm::enumerate(lefts)) {
          size_t at = sumsOf(int64_t(i) * mmaRows, column + second * mmaColumns);
          multiplyMatrices(b, product.storage, registers, ArrayRef(both).slice(2 * second, 2),
                           llvm::MutableArrayRef(sums).slice(at, 4));
        }
    }
  }
  return sums;
}

/// Rounds and stores pairs of columns, which are neighbours in memory.
void TensorCoreEmitter::store(ArrayRef<Value> sums) {
  Type type = product.resultType;
  Value laneRow = b.divide(lane, 4), laneColumn = b.mul(b.remainder(lane, 4), 2);
  auto at = [&](Value first, Value inBlock) {
    return b.add(first, b.toIndex(inBlock, product.indexType));
  };
  for (int64_t row = 0; row < tile.warpRows; row += 8)
    for (int64_t column = 0; column < tile.warpColumns; column += mmaColumns) {
      Value rowAt = at(product.firstRow, b.add(b.add(warpRow, laneRow), row));
      Value columnAt = at(product.firstColumn, b.add(b.add(warpColumn, laneColumn), column));
      Value isThere;
      if (product.rows() % tile.rows)
        isThere = b.isBelow(rowAt, product.rows());
      if (product.columns() % tile.columns)
        isThere = b.both(isThere, b.isBelow(columnAt, product.columns()));
      Element to = product.resultAt(rowAt, columnAt);
      b.when(b.both(isThere, to.isThere), [&] {
        ArrayRef<Value> pair = sums.drop_front(sumsOf(row, column) + row % mmaRows / 8 * 2);
        Value values = b.create<vector::InsertOp>(pair[1], b.splat(pair[0], 2), 1);
        b.store(values, b.element(product.result, type, to.offset), type, 2, 2 * bytesOf(type));
      });
    }
}

Grid TensorCoreEmitter::emit(StringRef name) {
  int64_t blocks = product.begin(name, tile.rows, tile.columns);
  thread = b.thread();
  lane = b.remainder(thread, warpLanes);
  Value warp = b.divide(thread, warpLanes);
  int64_t warpsAcross = tile.columns / tile.warpColumns;
  warpRow = b.mul(b.divide(warp, warpsAcross), tile.warpRows);
  warpColumn = b.mul(b.remainder(warp, warpsAcross), tile.warpColumns);
  left.emplace(product.left, product.firstRow, tile.rows, 0);
  right.emplace(product.right, product.firstColumn, tile.columns, left->bytes());
  const int64_t stageBytes = left->bytes() + right->bytes();
  shared = b.shared(b.getI8Type(), stages * stageBytes);

  auto copyStep = [&](Value depth, Value stage) {
    copy(*left, depth, stage);
    copy(*right, depth, stage);
    commitCopies(b);
  };
  // Steps beyond the end copy nothing but zeros, which nobody reads.
  for (int64_t i = 0; i < stages - 1; ++i)
    copyStep(b.add(product.firstDepth, i * stepDepth), word(i * stageBytes));
  Value zero = b.create<arith::ConstantOp>(b.getF32FloatAttr(0));
  SmallVector<Value> carried(tile.warpRows * tile.warpColumns / warpLanes, zero);
  carried.append({word(0), word((stages - 1) * stageBytes)}); // stages that are read and filled
  auto next = [&](Value stage) -> Value {
    Value isLast =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, stage, word((stages - 1) * stageBytes));
    return b.create<arith::SelectOp>(isLast, word(0), b.add(stage, stageBytes));
  };
  carried = b.fold(product.firstDepth, product.endDepth, stepDepth, carried,
                   [&](Value depth, SmallVector<Value> values) {
                     Value filled = values.pop_back_val(), read = values.pop_back_val();
                     waitForCopies(b, stages - 2);
                     b.barrier();
                     copyStep(b.add(depth, (stages - 1) * stepDepth), filled);
                     values = multiply(read, values);
                     values.append({next(read), next(filled)});
                     return values;
                   });
  store(carried);
  return {blocks, threads};
}

Grid halfstep::codegen::emitOnTensorCores(ConvProduct &product, StringRef name) {
  if (!product.isKind(HS_CONV_WEIGHT_GRADIENT))
    product.transpose();
  return TensorCoreEmitter(product).emit(name);
}

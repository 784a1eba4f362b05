//===- EmitCudaConv.cpp - convolutions of any shape ----------------------------------------===//
//
// A block computes a tile of the product of CudaConvProduct.h: it brings a few steps of the depth
// of both factors into shared memory, widened, neighbouring threads reading neighbouring elements;
// each thread multiplies its rows and columns from there. An element's sum is one chain of fused
// multiply-adds over ascending depth.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaConvKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

namespace {
/// What a block of `blockThreads` threads computes at a time. Convolutions of few rows get more
/// columns instead.
struct Tile {
  explicit Tile(int64_t wantedRows)
      : rows(std::clamp<int64_t>(llvm::PowerOf2Ceil(wantedRows), threadRows, 64)),
        threadColumns(std::clamp<int64_t>(rows / 8, 1, 4)),
        columns(blockThreads * threadColumns / (rows / threadRows)),
        depth(std::min<int64_t>(16, 2048 / columns)) {}

  static constexpr int64_t threadRows = 4;
  int64_t rows, threadColumns, columns, depth;
};

class ConvEmitter {
public:
  explicit ConvEmitter(ConvProduct &product)
      : product(product), b(product.b), sumType(product.sumType), tile(product.rows()) {}

  Grid emit(StringRef name);

private:
  /// A part of a factor on its way to shared memory.
  struct Copy {
    Value value, offset, isCopied;
  };
  SmallVector<Copy> load(const ConvProduct::Factor &factor, Value first, int64_t outer,
                         Value depth);
  SmallVector<Value> multiply(SmallVector<Value> sums);
  int64_t pitch(int64_t outer) const { return outer + Tile::threadRows; } // spreads over the banks

  ConvProduct &product;
  CudaBuilder &b;
  const Type sumType;
  const Tile tile;
  Value thread, row, column; // its first row and column of the tile
  Value leftTile, rightTile; // in shared memory, [depth][outer]
};
} // namespace

/// What the thread has to bring of `outer` rows or columns from `first` on, and of the tile's depth
/// from `depth` on.
SmallVector<ConvEmitter::Copy> ConvEmitter::load(const ConvProduct::Factor &factor, Value first,
                                                 int64_t outer, Value depth) {
  SmallVector<Copy> copies;
  int64_t elements = outer * tile.depth;
  for (int64_t passed = 0; passed < elements; passed += blockThreads) {
    Value element = b.add(thread, passed);
    int64_t fast = factor.isContiguousInDepth ? tile.depth : outer;
    Value inFast = b.remainder(element, fast), inSlow = b.divide(element, fast);
    Value inOuter = factor.isContiguousInDepth ? inSlow : inFast;
    Value inDepth = factor.isContiguousInDepth ? inFast : inSlow;
    Value isCopied = elements < blockThreads ? b.isBelow(element, elements) : Value();
    Value outerAt = b.add(first, inOuter), depthAt = b.add(depth, inDepth);
    Element from = factor.locate(outerAt, depthAt);
    from.isThere = b.both(from.isThere, isCopied);
    if (factor.outer % outer)
      from.isThere = b.both(from.isThere, b.isBelow(outerAt, factor.outer));
    from.isThere = b.both(from.isThere, b.isLess(depthAt, product.endDepth));
    copies.push_back({loadElement(b, factor.pointer, product.storage, from),
                      b.add(b.mul(inDepth, pitch(outer)), inOuter), isCopied});
  }
  return copies;
}

/// Adds the products of the tiles in shared memory to the thread's sums, a vector of columns for
/// each row.
SmallVector<Value> ConvEmitter::multiply(SmallVector<Value> sums) {
  int64_t bytes = bytesOf(sumType);
  auto read = [&](Value from, Value k, int64_t outer, Value first, int64_t width) {
    Value at = b.element(from, sumType, b.add(b.mul(k, pitch(outer)), first));
    return b.load(at, sumType, width, std::min<int64_t>(16, width * bytes));
  };
  return b.fold(product.number(0), product.number(tile.depth), 1, sums,
                [&](Value k, SmallVector<Value> carried) {
                  Value leftValues = read(leftTile, k, tile.rows, row, Tile::threadRows);
                  Value rightValues = read(rightTile, k, tile.columns, column, tile.threadColumns);
                  for (auto [i, sum] : llvm::enumerate(carried)) {
                    Value factor =
                        b.splat(b.create<vector::ExtractOp>(leftValues, i), tile.threadColumns);
                    sum = b.create<math::FmaOp>(factor, rightValues, sum);
                  }
                  return carried;
                });
}

Grid ConvEmitter::emit(StringRef name) {
  int64_t blocks = product.begin(name, tile.rows, tile.columns);
  thread = b.toIndex(b.thread(), product.indexType);
  int64_t threadsAcross = tile.columns / tile.threadColumns;
  row = b.mul(b.divide(thread, threadsAcross), Tile::threadRows);
  column = b.mul(b.remainder(thread, threadsAcross), tile.threadColumns);
  leftTile = b.shared(sumType, tile.depth * pitch(tile.rows));
  rightTile = b.shared(sumType, tile.depth * pitch(tile.columns));

  SmallVector<Value> zeros(
      Tile::threadRows, b.create<arith::ConstantOp>(
                            b.getZeroAttr(KernelBuilder::vectorOf(sumType, tile.threadColumns))));
  SmallVector<Value> sums =
      b.fold(product.firstDepth, product.endDepth, tile.depth, zeros,
             [&](Value at, SmallVector<Value> carried) {
               auto lefts = load(product.left, product.firstRow, tile.rows, at);
               auto rights = load(product.right, product.firstColumn, tile.columns, at);
               b.barrier(); // everybody has multiplied what was there before
               auto put = [&](ArrayRef<Copy> copies, Value to) {
                 for (const Copy &copy : copies)
                   b.when(copy.isCopied, [&] {
                     b.store(copy.value, b.element(to, sumType, copy.offset), sumType, 0);
                   });
               };
               put(lefts, leftTile);
               put(rights, rightTile);
               b.barrier();
               return multiply(carried);
             });

  row = b.add(product.firstRow, row);
  column = b.add(product.firstColumn, column);
  for (auto [i, sum] : llvm::enumerate(sums))
    for (int64_t j = 0; j < tile.threadColumns; ++j) {
      Value rowAt = b.add(row, i), columnAt = b.add(column, j), isThere;
      if (product.rows() % tile.rows)
        isThere = b.isBelow(rowAt, product.rows());
      if (product.columns() % tile.columns)
        isThere = b.both(isThere, b.isBelow(columnAt, product.columns()));
      Element to = product.resultAt(rowAt, columnAt);
      b.when(b.both(isThere, to.isThere), [&, &sums = sum] {
        b.store(b.create<vector::ExtractOp>(sums, j),
                b.element(product.result, product.resultType, to.offset), product.resultType, 0);
      });
    }
  return {blocks, blockThreads};
}

FailureOr<Grid> halfstep::codegen::emitCudaKernel(OpBuilder &builder, table::ConvOp op,
                                                  StringRef name) {
  FailureOr<hs_conv> conv = describe(op);
  if (failed(conv))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  CudaBuilder b(op.getLoc(), builder);
  if (isDepthwise(*conv))
    return emitDepthwise(b, *conv, op, name);
  ConvProduct product(b, *conv, op);
  return isForTensorCores(*conv) ? emitOnTensorCores(product, name)
                                 : ConvEmitter(product).emit(name);
}

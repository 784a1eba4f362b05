//===- EmitCudaConv.cpp - convolutions of any shape ----------------------------------------===//
//
// All three kinds are a product of a matrix with the matrix of patches, which is never stored: an
// implicit GEMM (Chetlur et al.: cuDNN: Efficient primitives for deep learning, 2014).
//
//                    rows              columns           depth
//   forward          output channels   outputs           points of the window x input channels
//   input gradient   input channels    inputs            points of the window x output channels
//   weight gradient  output channels   points x input    outputs of all images, a share of them
//                                      channels          for each part
//
// A block computes a tile of rows and columns of one group: it brings a few steps of the depth of
// both operands into shared memory, widened, neighbouring threads reading neighbouring elements;
// each thread multiplies its rows and columns from there. An element's sum is one chain of fused
// multiply-adds over ascending depth.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CallDetails.h"
#include "codegen/CudaWindow.h"

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

/// Images as the convolution of one group sees them.
struct Images {
  Images(int64_t groups, int64_t channels, const int64_t (&sizes)[3], bool channelsLast)
      : channels(channels), sizes(sizes), plane(volumeOf(sizes)),
        strides(groups * channels, sizes, channelsLast) {}

  int64_t channels; // of a group
  const int64_t (&sizes)[3];
  int64_t plane; // pixels of an image; those of all images are numbered through
  ImageStrides strides;
};

/// One of the two factors: the number of its rows or columns, and where an element of it is.
struct Factor {
  Value pointer;
  int64_t outer;
  bool isContiguousInDepth;
  std::function<Element(Value outer, Value depth)> locate;
};

class ConvEmitter {
public:
  ConvEmitter(CudaBuilder &b, const hs_conv &conv, table::ConvOp op);

  Grid emit(StringRef name);

private:
  /// A part of a factor on its way to shared memory.
  struct Copy {
    Value value, offset, isCopied;
  };
  bool isKind(hs_conv_kind kind) const { return conv.kind == uint32_t(kind); }
  Value pixelOf(const Images &images, Value pixel, Value channel);
  Element patchAt(Value pixel, Value point);
  Value filterAt(Value row, Value point);
  void setProduct();
  SmallVector<Copy> load(const Factor &factor, Value first, int64_t outer, Value depth, Value end);
  SmallVector<Value> multiply(SmallVector<Value> sums);
  Value number(int64_t value) { return b.constant(indexType, value); }
  int64_t pitch(int64_t outer) const { return outer + Tile::threadRows; } // spreads over the banks

  CudaBuilder &b;
  const hs_conv conv;
  const Type storage, sumType, resultType;
  const Type indexType;
  const int64_t points; // of the window
  const Images x, y;
  // What the window moves over, and the images that are read through it.
  const Images &grid, &source;
  const ImageStrides filters;
  CudaWindow window;
  SmallVector<Value> buffers;
  Value thread, group, part;
  Value row, column; // the thread's first of the tile
  // The product.
  int64_t rows, columns, depth;
  Factor left, right;
  std::function<Value(Value row, Value column)> resultAt;
  Tile tile;
  Value leftTile, rightTile; // in shared memory, [depth][outer]
};
} // namespace

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()); }
static int64_t sizeOf(Value tensor) { return cast<ShapedType>(tensor.getType()).getNumElements(); }

ConvEmitter::ConvEmitter(CudaBuilder &b, const hs_conv &described, table::ConvOp op)
    : b(b), conv(described), storage(elementOf(op.getA())), sumType(kernel::computeType(storage)),
      resultType(elementOf(op.getC())),
      indexType(indexTypeFor(b, {sizeOf(op.getA()), sizeOf(op.getB()), sizeOf(op.getC())})),
      points(volumeOf(conv.window.kernel)),
      x(conv.groups, conv.input_channels, conv.window.input, conv.channels_last),
      y(conv.groups, conv.output_channels, conv.window.output, conv.channels_last),
      grid(isKind(HS_CONV_INPUT_GRADIENT) ? x : y), source(isKind(HS_CONV_INPUT_GRADIENT) ? y : x),
      filters(conv.input_channels, conv.window.kernel, conv.channels_last),
      window(b, conv.window, indexType),
      tile(isKind(HS_CONV_WEIGHT_GRADIENT) ? y.channels : grid.channels) {}

//===---------------------------------------------------------------------------------------===//
// Where the elements of the three matrices are
//===---------------------------------------------------------------------------------------===//

Value ConvEmitter::pixelOf(const Images &images, Value pixel, Value channel) {
  Position at = window.split(b.remainder(pixel, images.plane), images.sizes);
  channel = b.add(b.mul(group, images.channels), channel);
  return window.offset(images.strides, b.divide(pixel, images.plane), channel, at);
}

/// The channel and the place of a point of the window, which are numbered as filters hold them.
static std::pair<Value, Value> splitPoint(CudaBuilder &b, Value point, const hs_conv &conv,
                                          int64_t channels) {
  if (conv.channels_last)
    return {b.remainder(point, channels), b.divide(point, channels)};
  int64_t points = volumeOf(conv.window.kernel);
  return {b.divide(point, points), b.remainder(point, points)};
}

Element ConvEmitter::patchAt(Value pixel, Value point) {
  auto [channel, place] = splitPoint(b, point, conv, source.channels);
  Position at = window.split(b.remainder(pixel, grid.plane), grid.sizes);
  Position k = window.split(place, conv.window.kernel);
  CudaWindow::Read read =
      isKind(HS_CONV_INPUT_GRADIENT) ? window.outputOf(at, k) : window.inputOf(at, k);
  channel = b.add(b.mul(group, source.channels), channel);
  return {window.offset(source.strides, b.divide(pixel, grid.plane), channel, read.at),
          read.isInside};
}

/// Of a row of a product with patches.
Value ConvEmitter::filterAt(Value row, Value point) {
  auto [channel, place] = splitPoint(b, point, conv, source.channels);
  bool isForward = isKind(HS_CONV_FORWARD);
  Value output = b.add(b.mul(group, conv.output_channels), isForward ? row : channel);
  return window.offset(filters, output, isForward ? channel : row,
                       window.split(place, conv.window.kernel));
}

void ConvEmitter::setProduct() {
  bool isLast = conv.channels_last;
  auto patches = [this](Value pixel, Value point) { return patchAt(pixel, point); };
  if (isKind(HS_CONV_WEIGHT_GRADIENT)) {
    rows = y.channels;
    columns = x.channels * points;
    depth = conv.batch * y.plane;
    left = {buffers[0], rows, !isLast,
            [this](Value row, Value pixel) { return Element{pixelOf(y, pixel, row), nullptr}; }};
    right = {buffers[1], columns, !isLast,
             [patches](Value point, Value pixel) { return patches(pixel, point); }};
    resultAt = [this](Value row, Value point) {
      Value filter = b.mul(b.add(b.mul(part, conv.groups), group), y.channels);
      return b.add(b.mul(b.add(filter, row), columns), point);
    };
    return;
  }
  rows = grid.channels;
  columns = conv.batch * grid.plane;
  depth = points * source.channels;
  left = {buffers[1], rows, isKind(HS_CONV_FORWARD) || !isLast,
          [this](Value row, Value point) { return Element{filterAt(row, point), nullptr}; }};
  right = {buffers[0], columns, isLast, patches};
  resultAt = [this](Value row, Value pixel) { return pixelOf(grid, pixel, row); };
}

//===---------------------------------------------------------------------------------------===//
// The product
//===---------------------------------------------------------------------------------------===//

/// What the thread has to bring of `outer` rows or columns from `first` on, and of the tile's depth
/// from `depth` on, as far as it lies before `end`.
SmallVector<ConvEmitter::Copy> ConvEmitter::load(const Factor &factor, Value first, int64_t outer,
                                                 Value depth, Value end) {
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
    from.isThere = b.both(from.isThere, b.isLess(depthAt, end));
    copies.push_back({loadElement(b, factor.pointer, storage, from),
                      b.add(b.mul(inDepth, pitch(outer)), inOuter), isCopied});
  }
  return copies;
}

/// Adds the products of the tiles in shared memory to the thread's sums, a vector of columns for
/// each row.
SmallVector<Value> ConvEmitter::multiply(SmallVector<Value> sums) {
  int64_t bytes = sumType.getIntOrFloatBitWidth() / 8;
  auto read = [&](Value from, Value k, int64_t outer, Value first, int64_t width) {
    Value at = b.element(from, sumType, b.add(b.mul(k, pitch(outer)), first));
    return b.load(at, sumType, width, std::min<int64_t>(16, width * bytes));
  };
  return b.fold(number(0), number(tile.depth), 1, sums, [&](Value k, SmallVector<Value> carried) {
    Value leftValues = read(leftTile, k, tile.rows, row, Tile::threadRows);
    Value rightValues = read(rightTile, k, tile.columns, column, tile.threadColumns);
    for (auto [i, sum] : llvm::enumerate(carried)) {
      Value factor = b.splat(b.create<vector::ExtractOp>(leftValues, i), tile.threadColumns);
      sum = b.create<math::FmaOp>(factor, rightValues, sum);
    }
    return carried;
  });
}

Grid ConvEmitter::emit(StringRef name) {
  b.beginKernel(name, 3, buffers);
  thread = b.toIndex(b.thread(), indexType);
  Value rest = b.toIndex(b.block(), indexType);
  auto nextDigit = [&](int64_t size) {
    Value digit = b.remainder(rest, size);
    rest = b.divide(rest, size);
    return digit;
  };
  setProduct();
  int64_t rowTiles = llvm::divideCeil(rows, tile.rows);
  int64_t columnTiles = llvm::divideCeil(columns, tile.columns);
  Value firstRow = b.mul(nextDigit(rowTiles), tile.rows);
  Value firstColumn = b.mul(nextDigit(columnTiles), tile.columns);
  group = nextDigit(conv.groups);
  part = nextDigit(conv.parts);
  int64_t threadsAcross = tile.columns / tile.threadColumns;
  row = b.mul(b.divide(thread, threadsAcross), Tile::threadRows);
  column = b.mul(b.remainder(thread, threadsAcross), tile.threadColumns);
  leftTile = b.shared(sumType, tile.depth * pitch(tile.rows));
  rightTile = b.shared(sumType, tile.depth * pitch(tile.columns));

  int64_t share = llvm::divideCeil(depth, conv.parts);
  Value begin = b.smaller(b.mul(part, share), number(depth));
  Value end = b.smaller(b.add(begin, share), number(depth));
  SmallVector<Value> zeros(
      Tile::threadRows, b.create<arith::ConstantOp>(
                            b.getZeroAttr(KernelBuilder::vectorOf(sumType, tile.threadColumns))));
  SmallVector<Value> sums =
      b.fold(begin, end, tile.depth, zeros, [&](Value at, SmallVector<Value> carried) {
        auto lefts = load(left, firstRow, tile.rows, at, end);
        auto rights = load(right, firstColumn, tile.columns, at, end);
        b.barrier(); // everybody has multiplied what was there before
        auto put = [&](ArrayRef<Copy> copies, Value to) {
          for (const Copy &copy : copies)
            b.when(copy.isCopied,
                   [&] { b.store(copy.value, b.element(to, sumType, copy.offset), sumType, 0); });
        };
        put(lefts, leftTile);
        put(rights, rightTile);
        b.barrier();
        return multiply(carried);
      });

  row = b.add(firstRow, row);
  column = b.add(firstColumn, column);
  for (auto [i, sum] : llvm::enumerate(sums))
    for (int64_t j = 0; j < tile.threadColumns; ++j) {
      Value rowAt = b.add(row, i), columnAt = b.add(column, j);
      Value isThere = rows % tile.rows ? b.isBelow(rowAt, rows) : Value();
      if (columns % tile.columns)
        isThere = b.both(isThere, b.isBelow(columnAt, columns));
      b.when(isThere, [&, &sums = sum] {
        Value value = b.create<vector::ExtractOp>(sums, j);
        b.store(value, b.element(buffers[2], resultType, resultAt(rowAt, columnAt)), resultType, 0);
      });
    }
  return {rowTiles * columnTiles * conv.groups * conv.parts, blockThreads};
}

FailureOr<Grid> halfstep::codegen::emitCudaKernel(OpBuilder &builder, table::ConvOp op,
                                                  StringRef name) {
  FailureOr<hs_conv> conv = describe(op);
  if (failed(conv))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  CudaBuilder b(op.getLoc(), builder);
  return ConvEmitter(b, *conv, op).emit(name);
}

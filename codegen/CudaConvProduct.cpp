//===- CudaConvProduct.cpp - a convolution as a product of matrices -------------------------===//

#include "codegen/CudaConvProduct.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()); }
static int64_t sizeOf(Value tensor) { return cast<ShapedType>(tensor.getType()).getNumElements(); }

ConvProduct::ConvProduct(CudaBuilder &b, const hs_conv &described, table::ConvOp op)
    : b(b), conv(described), storage(elementOf(op.getA())), sumType(kernel::computeType(storage)),
      resultType(elementOf(op.getC())),
      indexType(indexTypeFor(b, {sizeOf(op.getA()), sizeOf(op.getB()), sizeOf(op.getC())})),
      points(volumeOf(conv.window.kernel)),
      x(conv.groups, conv.input_channels, conv.window.input, conv.channels_last),
      y(conv.groups, conv.output_channels, conv.window.output, conv.channels_last),
      grid(isKind(HS_CONV_INPUT_GRADIENT) ? x : y), source(isKind(HS_CONV_INPUT_GRADIENT) ? y : x),
      filters(conv.input_channels, conv.window.kernel, conv.channels_last),
      window(b, conv.window, indexType) {
  setProduct();
}

//===---------------------------------------------------------------------------------------===//
// Where the elements of the three matrices are
//===---------------------------------------------------------------------------------------===//

Value ConvProduct::pixelAt(const Images &images, Value pixel, Value channel) {
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

Element ConvProduct::patchAt(Value pixel, Value point) {
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
Value ConvProduct::filterAt(Value row, Value point) {
  auto [channel, place] = splitPoint(b, point, conv, source.channels);
  bool isForward = isKind(HS_CONV_FORWARD);
  Value output = b.add(b.mul(group, conv.output_channels), isForward ? row : channel);
  return window.offset(filters, output, isForward ? channel : row,
                       window.split(place, conv.window.kernel));
}

void ConvProduct::setProduct() {
  bool isLast = conv.channels_last;
  auto patches = [this](Value pixel, Value point) { return patchAt(pixel, point); };
  if (isKind(HS_CONV_WEIGHT_GRADIENT)) {
    depth = conv.batch * y.plane;
    int64_t filterSize = x.channels * points;
    left = {y.channels, !isLast,
            [this](Value row, Value pixel) { return Element{pixelAt(y, pixel, row), nullptr}; },
            nullptr};
    right = {filterSize, !isLast,
             [patches](Value point, Value pixel) { return patches(pixel, point); }, nullptr};
    locateResult = [this, filterSize](Value row, Value point) {
      Value filter = b.mul(b.add(b.mul(part, conv.groups), group), y.channels);
      return b.add(b.mul(b.add(filter, row), filterSize), point);
    };
    return;
  }
  depth = points * source.channels;
  left = {grid.channels, isKind(HS_CONV_FORWARD) || !isLast,
          [this](Value row, Value point) { return Element{filterAt(row, point), nullptr}; },
          nullptr};
  right = {conv.batch * grid.plane, isLast, patches, nullptr};
  locateResult = [this](Value row, Value pixel) { return pixelAt(grid, pixel, row); };
}

void ConvProduct::transpose() {
  std::swap(left, right);
  isTransposed = !isTransposed;
}

int64_t ConvProduct::begin(StringRef name, int64_t tileRows, int64_t tileColumns) {
  SmallVector<Value> buffers;
  b.beginKernel(name, 3, buffers);
  bool leftIsFirst = isKind(HS_CONV_WEIGHT_GRADIENT) != isTransposed;
  left.pointer = buffers[leftIsFirst ? 0 : 1];
  right.pointer = buffers[leftIsFirst ? 1 : 0];
  result = buffers[2];

  // Blocks that follow each other share what they read.
  int64_t rowTiles = llvm::divideCeil(rows(), tileRows);
  int64_t columnTiles = llvm::divideCeil(columns(), tileColumns);
  Value rest = b.toIndex(b.block(), indexType);
  auto nextDigit = [&](int64_t size) {
    Value digit = b.remainder(rest, size);
    rest = b.divide(rest, size);
    return digit;
  };
  auto nextRow = [&] { firstRow = b.mul(nextDigit(rowTiles), tileRows); };
  if (rowTiles <= columnTiles)
    nextRow();
  firstColumn = b.mul(nextDigit(columnTiles), tileColumns);
  if (rowTiles > columnTiles)
    nextRow();
  group = nextDigit(conv.groups);
  part = nextDigit(conv.parts);
  int64_t share = llvm::divideCeil(depth, conv.parts);
  firstDepth = b.smaller(b.mul(part, share), number(depth));
  endDepth = b.smaller(b.add(firstDepth, share), number(depth));
  return rowTiles * columnTiles * conv.groups * conv.parts;
}

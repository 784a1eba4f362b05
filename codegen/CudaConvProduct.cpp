//===- CudaConvProduct.cpp - a convolution as a product of matrices -------------------------===//

#include "codegen/CudaConvProduct.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

ConvProduct::ConvProduct(CudaBuilder &b, const hs_conv &described, table::ConvOp op)
    : b(b), conv(described), storage(getElementTypeOrSelf(op.getA())),
      sumType(kernel::computeType(storage)), resultType(getElementTypeOrSelf(op.getC())),
      indexType(indexTypeFor(b, described.window, op)),
      x(conv.groups, conv.input_channels, conv.window.input, conv.channels_last),
      y(conv.groups, conv.output_channels, conv.window.output, conv.channels_last),
      grid(isKind(HS_CONV_INPUT_GRADIENT) ? x : y), source(isKind(HS_CONV_INPUT_GRADIENT) ? y : x),
      filters(conv.input_channels, conv.window.kernel, conv.channels_last),
      window(b, conv.window, indexType) {
  setPhases();
  setProduct();
}

void ConvProduct::setPhases() {
  for (int i = 0; i < 3; ++i) {
    bool hasPhases = isKind(HS_CONV_INPUT_GRADIENT) && conv.window.dilation[i] == 1;
    phases[i] = hasPhases ? conv.window.stride[i] : 1;
    positions[i] = llvm::divideCeil(grid.sizes[i], phases[i]);
    points[i] = llvm::divideCeil(conv.window.kernel[i], phases[i]);
  }
}

//===---------------------------------------------------------------------------------------===//
// Where the elements of the three matrices are
//===---------------------------------------------------------------------------------------===//

Position ConvProduct::positionOf(Value pixel) {
  Position at = window.split(b.remainder(pixel, volumeOf(positions)), positions);
  for (int i = 0; i < 3; ++i)
    if (phases[i] > 1)
      at[i] = b.create<arith::AddIOp>(b.mul(at[i], phases[i]), phase[i]);
  return at;
}

ConvProduct::Point ConvProduct::pointAt(Value number, int64_t channels) {
  int64_t count = volumeOf(points);
  bool isLast = conv.channels_last;
  Value place = isLast ? b.divide(number, channels) : b.remainder(number, count);
  Point point{isLast ? b.remainder(number, channels) : b.divide(number, count),
              window.split(place, points), nullptr};
  for (int i = 0; i < 3; ++i)
    if (int64_t step = phases[i]; step > 1) {
      int64_t pad = (conv.window.pad[i] % step + step) % step;
      Value first = b.remainder(b.add(phase[i], pad), step);
      point.at[i] = b.create<arith::AddIOp>(b.mul(point.at[i], step), first);
      if (conv.window.kernel[i] % step)
        point.isThere = b.both(point.isThere, b.isBelow(point.at[i], conv.window.kernel[i]));
    }
  return point;
}

Element ConvProduct::pixelAt(Value pixel, Value channel) {
  Position at = positionOf(pixel);
  Value isThere;
  for (int i = 0; i < 3; ++i)
    if (grid.sizes[i] % phases[i])
      isThere = b.both(isThere, b.isBelow(at[i], grid.sizes[i]));
  channel = b.add(b.mul(group, grid.channels), channel);
  return {window.offset(grid.strides, imageOf(pixel), channel, at), isThere};
}

Element ConvProduct::patchAt(Value pixel, Value number) {
  Point point = pointAt(number, source.channels);
  Position at = positionOf(pixel);
  CudaWindow::Read read =
      isKind(HS_CONV_INPUT_GRADIENT) ? window.outputOf(at, point.at) : window.inputOf(at, point.at);
  Value channel = b.add(b.mul(group, source.channels), point.channel);
  return {window.offset(source.strides, imageOf(pixel), channel, read.at),
          b.both(read.isInside, point.isThere)};
}

/// Of a row of a product with patches.
Element ConvProduct::filterAt(Value row, Value number) {
  Point point = pointAt(number, source.channels);
  bool isForward = isKind(HS_CONV_FORWARD);
  Value output = b.add(b.mul(group, conv.output_channels), isForward ? row : point.channel);
  Value input = isForward ? point.channel : row;
  return {window.offset(filters, output, input, point.at), point.isThere};
}

void ConvProduct::setProduct() {
  bool isLast = conv.channels_last;
  int64_t pixels = conv.batch * volumeOf(positions), patchSize = volumeOf(points) * source.channels;
  auto patches = [this](Value pixel, Value point) { return patchAt(pixel, point); };
  auto pixelsOf = [this](Value channel, Value pixel) { return pixelAt(pixel, channel); };
  if (isKind(HS_CONV_WEIGHT_GRADIENT)) {
    depth = pixels;
    left = {grid.channels, !isLast, pixelsOf, nullptr};
    right = {patchSize, !isLast,
             [patches](Value point, Value pixel) { return patches(pixel, point); }, nullptr};
    locateResult = [this, patchSize](Value row, Value point) -> Element {
      Value filter = b.mul(b.add(b.mul(part, conv.groups), group), grid.channels);
      return {b.add(b.mul(b.add(filter, row), patchSize), point), nullptr};
    };
    return;
  }
  depth = patchSize;
  left = {grid.channels, isKind(HS_CONV_FORWARD) || !isLast,
          [this](Value row, Value point) { return filterAt(row, point); }, nullptr};
  right = {pixels, isLast, patches, nullptr};
  locateResult = pixelsOf;
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
  for (int i = 0; i < 3; ++i)
    phase[i] = nextDigit(phases[i]);
  int64_t share = llvm::divideCeil(depth, conv.parts);
  firstDepth = b.smaller(b.mul(part, share), number(depth));
  endDepth = b.smaller(b.add(firstDepth, share), number(depth));
  return rowTiles * columnTiles * conv.groups * conv.parts * volumeOf(phases);
}

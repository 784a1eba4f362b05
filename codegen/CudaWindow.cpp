//===- CudaWindow.cpp - sliding windows in grid kernels ------------------------------------===//

#include "codegen/CudaWindow.h"

using namespace mlir;
using namespace halfstep::codegen;

ImageStrides::ImageStrides(int64_t channels, const int64_t (&sizes)[3], bool channelsLast) {
  int64_t stride = channelsLast ? channels : 1;
  channel = channelsLast ? 1 : volumeOf(sizes);
  for (int i = 3; i-- > 0; stride *= sizes[i])
    position[i] = stride;
  image = channels * volumeOf(sizes);
}

Position CudaWindow::split(Value number, const int64_t (&sizes)[3]) {
  Value rest = b.divide(number, sizes[2]);
  return {b.divide(rest, sizes[1]), b.remainder(rest, sizes[1]), b.remainder(number, sizes[2])};
}

CudaWindow::Place CudaWindow::splitElement(Value element, int64_t channels,
                                           const int64_t (&sizes)[3], bool channelsLast) {
  int64_t plane = volumeOf(sizes);
  Value pixel = channelsLast ? b.divide(element, channels) : element;
  Value channel = channelsLast ? element : b.divide(element, plane);
  return {b.divide(element, channels * plane), b.remainder(channel, channels),
          split(b.remainder(pixel, plane), sizes)};
}

Value CudaWindow::offset(const ImageStrides &strides, Value image, Value channel,
                         const Position &position) {
  Value sum = b.add(b.mul(image, strides.image), b.mul(channel, strides.channel));
  for (int i = 0; i < 3; ++i)
    sum = b.add(sum, b.mul(position[i], strides.position[i]));
  return sum;
}

// What lies before the first number is a large one: comparisons are unsigned.

CudaWindow::Read CudaWindow::inputOf(const Position &output, const Position &point) {
  Read read;
  for (int i = 0; i < 3; ++i) {
    Value start = b.add(b.mul(output[i], window.stride[i]), -window.pad[i]);
    read.at[i] = b.add(start, b.mul(point[i], window.dilation[i]));
    int64_t last = (window.output[i] - 1) * window.stride[i] - window.pad[i] +
                   (window.kernel[i] - 1) * window.dilation[i];
    if (window.pad[i] > 0 || last >= window.input[i])
      read.isInside = b.both(read.isInside, b.isBelow(read.at[i], window.input[i]));
  }
  return read;
}

CudaWindow::Read CudaWindow::outputOf(const Position &input, const Position &point) {
  Read read;
  for (int i = 0; i < 3; ++i) {
    Value distance = b.sub(b.add(input[i], window.pad[i]), b.mul(point[i], window.dilation[i]));
    read.at[i] = b.divide(distance, window.stride[i]);
    // A distance below zero stays far above all outputs when it is divided: those reach no further
    // than the input and its padding, which indices hold with two bits to spare.
    read.isInside = b.both(read.isInside, b.isBelow(read.at[i], window.output[i]));
    if (window.stride[i] > 1)
      read.isInside = b.both(read.isInside, b.isBelow(b.remainder(distance, window.stride[i]), 1));
  }
  return read;
}

CudaWindow::Read CudaWindow::pointOf(const Position &input) {
  Read read;
  for (int i = 0; i < 3; ++i) {
    Value distance = b.add(input[i], window.pad[i]);
    read.at[i] = b.divide(distance, window.dilation[i]);
    read.isInside = b.both(read.isInside, b.isBelow(read.at[i], window.kernel[i]));
    if (window.dilation[i] > 1)
      read.isInside =
          b.both(read.isInside, b.isBelow(b.remainder(distance, window.dilation[i]), 1));
  }
  return read;
}

Value CudaWindow::countPoints(int dimension, Value output, int64_t front, int64_t behind) {
  int64_t step = window.dilation[dimension], kernel = window.kernel[dimension];
  // Points before which the window has come to `bound`: ceil((bound - start) / step).
  auto before = [&](int64_t bound) -> Value {
    Value start = b.add(b.mul(output, window.stride[dimension]), -window.pad[dimension]);
    Value distance = b.sub(b.constant(indexType, bound + step - 1), start);
    Value reached = b.create<arith::MaxSIOp>(distance, b.constant(indexType, 0));
    return b.smaller(b.divide(reached, step), b.constant(indexType, kernel));
  };
  return b.sub(before(window.input[dimension] + behind), before(-front));
}

Type halfstep::codegen::indexTypeFor(CudaBuilder &b, const hs_window &window, Operation *entry) {
  int64_t largest = 0;
  for (TypeRange types : {TypeRange(entry->getOperandTypes()), TypeRange(entry->getResultTypes())})
    for (Type type : types)
      largest = std::max(largest, cast<ShapedType>(type).getNumElements());
  for (int i = 0; i < 3; ++i)
    largest = std::max(largest, window.output[i] * window.stride[i] +
                                    window.kernel[i] * window.dilation[i] + window.input[i] +
                                    window.pad[i]);
  return b.indexTypeFor(largest);
}

Value halfstep::codegen::loadElement(CudaBuilder &b, Value pointer, Type storage,
                                     const Element &element) {
  if (!element.isThere)
    return b.load(b.element(pointer, storage, element.offset), storage, 0);
  Value first = b.constant(element.offset.getType(), 0);
  Value offset = b.create<arith::SelectOp>(element.isThere, element.offset, first);
  Value value = b.load(b.element(pointer, storage, offset), storage, 0);
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(value.getType()));
  return b.create<arith::SelectOp>(element.isThere, value, zero);
}

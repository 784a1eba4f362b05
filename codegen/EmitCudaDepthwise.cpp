//===- EmitCudaDepthwise.cpp - convolutions of single channels -----------------------------===//
//
// Where a group has one input channel, a product of matrices would have next to no rows: nothing is
// worth sharing through shared memory that caches do not share. A thread computes an element of y
// or dx, neighbours in memory side by side. A block computes the gradient of one point of the
// window for some filters: each thread adds up a share of the outputs, and a tree of pairs their
// sums.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaConvKernels.h"
#include "codegen/CudaWindow.h"
#include "passes/CallDetails.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

bool halfstep::codegen::isDepthwise(const hs_conv &conv) {
  return conv.groups > 1 && conv.input_channels == 1;
}

namespace {
class DepthwiseEmitter {
public:
  DepthwiseEmitter(CudaBuilder &b, const hs_conv &conv, table::ConvOp op);

  Grid emit(StringRef name) {
    b.beginKernel(name, 3, buffers);
    return conv.kind == uint32_t(HS_CONV_WEIGHT_GRADIENT) ? emitWeightGradient() : emitImages();
  }

private:
  Grid emitImages();
  Value outputAt(Value image, Value channel, const Position &at);
  Value inputAt(Value image, Value channel, const Position &at);
  Grid emitWeightGradient();
  Value sumOver(Value channel, const Position &point, Value first, Value end, int64_t step);

  Value load(unsigned buffer, const Element &element) {
    return loadElement(b, buffers[buffer], storage, element);
  }
  Value zero() { return b.create<arith::ConstantOp>(b.getZeroAttr(sumType)); }
  Value multiplyAdd(Value x, Value y, Value sum) { return b.create<math::FmaOp>(x, y, sum); }
  Value number(int64_t value) { return b.constant(indexType, value); }

  CudaBuilder &b;
  const hs_conv conv;
  const Type storage, sumType, resultType, indexType;
  const int64_t outputChannels, points, outputs; // of all groups; of the window; of a plane of y
  const ImageStrides x, filters, y;
  CudaWindow window;
  SmallVector<Value> buffers;
};
} // namespace

DepthwiseEmitter::DepthwiseEmitter(CudaBuilder &b, const hs_conv &described, table::ConvOp op)
    : b(b), conv(described), storage(getElementTypeOrSelf(op.getA())),
      sumType(kernel::computeType(storage)), resultType(getElementTypeOrSelf(op.getC())),
      indexType(indexTypeFor(b, described.window, op)),
      outputChannels(conv.groups * conv.output_channels), points(volumeOf(conv.window.kernel)),
      outputs(volumeOf(conv.window.output)), x(conv.groups, conv.window.input, conv.channels_last),
      filters(1, conv.window.kernel, conv.channels_last),
      y(outputChannels, conv.window.output, conv.channels_last), window(b, conv.window, indexType) {
}

//===---------------------------------------------------------------------------------------===//
// Forward and input gradient
//===---------------------------------------------------------------------------------------===//

Value DepthwiseEmitter::outputAt(Value image, Value channel, const Position &at) {
  Value group = b.divide(channel, conv.output_channels);
  return window.foldPoints({zero()}, [&](const Position &point, SmallVector<Value> sums) {
    CudaWindow::Read read = window.inputOf(at, point);
    Value input = load(0, {window.offset(x, image, group, read.at), read.isInside});
    Value filter = load(1, {window.offset(filters, channel, number(0), point), nullptr});
    return SmallVector<Value>{multiplyAdd(filter, input, sums[0])};
  })[0];
}

Value DepthwiseEmitter::inputAt(Value image, Value channel, const Position &at) {
  return window.foldPoints({zero()}, [&](const Position &point, SmallVector<Value> sums) {
    CudaWindow::Read read = window.outputOf(at, point);
    for (int64_t i = 0; i < conv.output_channels; ++i) {
      Value output = b.add(b.mul(channel, conv.output_channels), i);
      Value dy = load(0, {window.offset(y, image, output, read.at), read.isInside});
      Value filter = load(1, {window.offset(filters, output, number(0), point), nullptr});
      sums[0] = multiplyAdd(filter, dy, sums[0]);
    }
    return sums;
  })[0];
}

Grid DepthwiseEmitter::emitImages() {
  bool isForward = conv.kind == uint32_t(HS_CONV_FORWARD);
  int64_t channels = isForward ? outputChannels : conv.groups;
  const int64_t(&sizes)[3] = isForward ? conv.window.output : conv.window.input;
  int64_t elements = conv.batch * channels * volumeOf(sizes);
  return b.parallelFor(elements, indexType, [&](Value element) {
    auto [image, channel, at] = window.splitElement(element, channels, sizes, conv.channels_last);
    Value sum = isForward ? outputAt(image, channel, at) : inputAt(image, channel, at);
    b.store(sum, b.element(buffers[2], resultType, element), resultType, 0);
  });
}

//===---------------------------------------------------------------------------------------===//
// Weight gradient
//===---------------------------------------------------------------------------------------===//

/// The sum over every `step`th output of all images from `first` on.
Value DepthwiseEmitter::sumOver(Value channel, const Position &point, Value first, Value end,
                                int64_t step) {
  Value group = b.divide(channel, conv.output_channels);
  return b.fold(first, end, step, {zero()}, [&](Value output, SmallVector<Value> sums) {
    Value image = b.divide(output, outputs);
    Position at = window.split(b.remainder(output, outputs), conv.window.output);
    CudaWindow::Read read = window.inputOf(at, point);
    Value dy = load(0, {window.offset(y, image, channel, at), nullptr});
    Value input = load(1, {window.offset(x, image, group, read.at), read.isInside});
    return SmallVector<Value>{multiplyAdd(dy, input, sums[0])};
  })[0];
}

Grid DepthwiseEmitter::emitWeightGradient() {
  // Lanes go along what is contiguous: filters or outputs.
  int64_t across = conv.channels_last ? warpLanes : 1, along = blockThreads / across;
  int64_t chunks = llvm::divideCeil(outputChannels, across);
  int64_t all = conv.batch * outputs, share = llvm::divideCeil(all, conv.parts);
  Value thread = b.toIndex(b.thread(), indexType), block = b.toIndex(b.block(), indexType);
  Value pointNumber = b.remainder(block, points), rest = b.divide(block, points);
  Value part = b.divide(rest, chunks);
  Value channel = b.add(b.mul(b.remainder(rest, chunks), across), b.remainder(thread, across));
  Position point = window.split(pointNumber, conv.window.kernel);
  Value begin = b.smaller(b.mul(part, share), number(all));
  Value end = b.smaller(b.add(begin, share), number(all));
  // Threads whose filter there is not add up those of the last one, for nothing.
  Value isThere = outputChannels % across ? b.isBelow(channel, outputChannels) : Value();
  Value summed = b.smaller(channel, number(outputChannels - 1));
  Value sum = sumOver(summed, point, b.add(begin, b.divide(thread, across)), end, along);

  Value sums = b.shared(sumType, blockThreads);
  auto at = [&](Value index) { return b.element(sums, sumType, index); };
  b.store(sum, at(thread), sumType, 0);
  for (int64_t left = along / 2; left; left /= 2) {
    b.barrier();
    b.when(b.isBelow(thread, left * across), [&] {
      Value other = b.load(at(b.add(thread, left * across)), sumType, 0);
      b.store(b.create<arith::AddFOp>(b.load(at(thread), sumType, 0), other), at(thread), sumType,
              0);
    });
  }
  b.when(b.both(isThere, b.isBelow(thread, across)), [&] {
    Value filter = b.add(b.mul(part, outputChannels), channel);
    Value offset = b.add(b.mul(filter, points), pointNumber);
    b.store(b.load(at(thread), sumType, 0), b.element(buffers[2], resultType, offset), resultType,
            0);
  });
  return {points * chunks * conv.parts, blockThreads};
}

Grid halfstep::codegen::emitDepthwise(CudaBuilder &b, const hs_conv &conv, table::ConvOp op,
                                      StringRef name) {
  return DepthwiseEmitter(b, conv, op).emit(name);
}

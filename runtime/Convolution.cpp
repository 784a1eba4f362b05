//===- Convolution.cpp - Convolutions and their adjoints as matrix products -------------------===//
//
// What is decided when a convolution is loaded; ConvolutionRunner.h has what runs.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Convolution.h"

#include "runtime/ConvolutionRunner.h"
#include "runtime/Parts.h"

#include <algorithm>

namespace halfstep::runtime {

ConvolutionBlock chooseConvolutionBlock(const hs_conv &conv) {
  // A block's patches and outputs: a quarter of a megabyte of f32, which second-level caches hold.
  constexpr int64_t elements = 1 << 16;
  // With fewer columns packing shows, as with fewer rows, which are the depth of a forward product
  // and a side of the gradients'.
  constexpr int64_t leastColumns = 128, mostDepth = 2048, enoughRows = 192;
  // Multiply-adds that are worth a thread: about 10 microseconds of one core.
  constexpr int64_t worthwhile = 1 << 19;
  // Input gradients of 16 bits are summed up in scratch memory: a bound for it.
  constexpr int64_t planeElements = 1 << 20;

  int64_t points = volumeOf(conv.window.kernel), outputs = volumeOf(conv.window.output);
  ConvolutionBlock block{1, outputs, conv.input_channels};
  int64_t rows = conv.kind == HS_CONV_FORWARD ? mostDepth : enoughRows;
  int64_t channels = std::max<int64_t>(1, rows / points);
  if (conv.kind == HS_CONV_INPUT_GRADIENT && conv.c_type != HS_F32 && conv.c_type != HS_F64)
    channels = std::clamp<int64_t>(planeElements / volumeOf(conv.window.input), 1, channels);
  block.channels = evenPart(block.channels, channels);
  int64_t patch = block.channels * points;
  int64_t columns = std::max(leastColumns, elements / (patch + conv.output_channels));
  if (outputs > columns) {
    block.outputs = ceilDiv(evenPart(outputs, columns), 16) * 16; // whole vectors
    return block;
  }
  int64_t enough = ceilDiv(worthwhile, patch * conv.output_channels * outputs);
  int64_t images = std::min({conv.batch, columns / outputs, enough});
  if (conv.kind == HS_CONV_WEIGHT_GRADIENT)
    images = std::min(images, ceilDiv(conv.batch, conv.parts));
  block.images = evenPart(conv.batch, images);
  return block;
}

Convolution::Convolution(const hs_conv &conv, WorkerMemory &scratch, OneDnn *oneDnn)
    : PatchConvolution(conv, scratch, oneDnn), block(chooseConvolutionBlock(conv)),
      imageBlocks(ceilDiv(conv.batch, block.images)), outputBlocks(ceilDiv(outputs, block.outputs)),
      channelBlocks(ceilDiv(conv.input_channels, block.channels)) {
  decideWhatIsInPlace();
  if (!BlockProduct::isSupported(gemmOf(block.channels, tile(0).columns()))) {
    operandType = HS_F32;
    decideWhatIsInPlace();
  }
  bool isForward = isKind(HS_CONV_FORWARD), isOfInput = isKind(HS_CONV_INPUT_GRADIENT);
  bool areWidened = storageType != operandType && (isForward || isOfInput);
  bool areSummed = storageType != sumType && isOfInput;
  int64_t rows = block.channels * points, columns = tile(0).columns();
  int64_t sums = areSummed                         ? block.images * block.channels * inputs
                 : isKind(HS_CONV_WEIGHT_GRADIENT) ? rows * conv.output_channels
                                                   : 0;
  reserveScratch(isPatchless ? 0 : rows * columns,
                 isOutputInPlace ? 0 : conv.output_channels * columns,
                 areWidened ? conv.output_channels * rows : 0, sums);
  createProducts();
}

void Convolution::decideWhatIsInPlace() {
  decideByTypes();
  if (block.images > 1)
    isPatchless = isOutputInPlace = false;
  // Transposed, rows of dy that are far apart would be read number by number.
  if (isKind(HS_CONV_WEIGHT_GRADIENT) && block.outputs < outputs)
    isOutputInPlace = false;
}

void Convolution::createProducts() {
  bool sumsUp = isKind(HS_CONV_WEIGHT_GRADIENT) || (isKind(HS_CONV_FORWARD) && channelBlocks > 1);
  int64_t lastChannels = conv.input_channels - (channelBlocks - 1) * block.channels;
  for (int64_t columns : {tile(0).columns(), tile(tiles() - 1).columns()})
    for (int64_t channels : {block.channels, lastChannels})
      for (bool accumulate : {false, sumsUp}) {
        bool isShort = columns < tile(0).columns(), isThin = channels < block.channels;
        auto &product = products[size_t(isThin * 4 + isShort * 2 + accumulate)];
        if (!product)
          product = std::make_unique<BlockProduct>(oneDnn, gemmOf(channels, columns), accumulate);
      }
}

const BlockProduct &Convolution::product(int64_t channels, int64_t columns, bool accumulate) const {
  bool isShort = columns < tile(0).columns(), isThin = channels < block.channels;
  return *products[size_t(isThin * 4 + isShort * 2 + accumulate)];
}

int64_t Convolution::units() const {
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return tiles() * conv.groups;
  case HS_CONV_INPUT_GRADIENT:
    return imageBlocks * conv.groups * channelBlocks;
  default:
    return conv.parts * conv.groups * channelBlocks;
  }
}

Convolution::Tile Convolution::tile(int64_t index) const {
  int64_t image = index / outputBlocks * block.images,
          output = index % outputBlocks * block.outputs;
  return {image, std::min(block.images, conv.batch - image), output,
          std::min(block.outputs, outputs - output)};
}

/// The product of a block of so many channels and columns.
hs_gemm Convolution::gemmOf(int64_t channels, int64_t columns) const {
  int64_t rows = channels * points;
  int64_t filterLeading = storageType == operandType ? conv.input_channels * points : rows;
  int64_t patchLeading = isPatchless ? inputs : columns;
  int64_t outputLeading = isOutputInPlace ? outputs : columns;
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return asGemm({false, false, conv.output_channels, columns, rows, filterLeading, patchLeading,
                   outputLeading});
  case HS_CONV_INPUT_GRADIENT:
    return asGemm({true, false, rows, columns, conv.output_channels, filterLeading, outputLeading,
                   patchLeading});
  default:
    return asGemm({false, true, rows, conv.output_channels, columns, patchLeading, outputLeading,
                   conv.output_channels});
  }
}

void Convolution::run(void *const *buffers, int64_t lo, int64_t hi) {
  runUnits<Runner>(*static_cast<const Convolution *>(buffers[3]), buffers, lo, hi);
}

} // namespace halfstep::runtime

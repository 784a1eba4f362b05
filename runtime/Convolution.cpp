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

Convolution::Convolution(const hs_conv &conv, const WorkerMemory &scratch, OneDnn *oneDnn)
    : PatchConvolution(conv, scratch, oneDnn), block(chooseConvolutionBlock(conv)),
      imageBlocks(ceilDiv(conv.batch, block.images)), outputBlocks(ceilDiv(outputs, block.outputs)),
      channelBlocks(ceilDiv(conv.input_channels, block.channels)),
      filterBlocks(ceilDiv(conv.output_channels, block.outputChannels)),
      positionBlocks(ceilDiv(inputs, block.positions)) {
  decideWhatIsInPlace();
  if (!BlockProduct::isSupported(
          gemmOf({block.channels, tile(0).columns(), block.outputChannels}))) {
    operandType = HS_F32;
    decideWhatIsInPlace();
  }
  offsets = layOutScratch(conv, block);
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
  bool sumsUp = isKind(HS_CONV_WEIGHT_GRADIENT) ||
                (isKind(HS_CONV_FORWARD) ? channelBlocks > 1 : isPatchless && filterBlocks > 1);
  int64_t lastChannels = conv.input_channels - (channelBlocks - 1) * block.channels;
  int64_t lastFilters = conv.output_channels - (filterBlocks - 1) * block.outputChannels;
  for (int64_t columns : {tile(0).columns(), tile(tiles() - 1).columns()})
    for (int64_t channels : {block.channels, lastChannels})
      for (int64_t outputChannels : {block.outputChannels, lastFilters})
        for (bool accumulate : {false, sumsUp}) {
          Size size{channels, columns, outputChannels};
          auto &product = products[productIndex(size, accumulate)];
          if (!product)
            product = std::make_unique<BlockProduct>(oneDnn, gemmOf(size), accumulate);
        }
}

// By whether a block is smaller than others, and whether it does not begin a sum.
size_t Convolution::productIndex(Size size, bool accumulate) const {
  bool isShort = size.columns < tile(0).columns(), isThin = size.channels < block.channels;
  bool isFlat = size.outputChannels < block.outputChannels;
  return size_t(isFlat * 8 + isThin * 4 + isShort * 2 + accumulate);
}

int64_t Convolution::units() const {
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return tiles() * conv.groups * filterBlocks;
  case HS_CONV_INPUT_GRADIENT:
    return imageBlocks * conv.groups * channelBlocks * positionBlocks;
  default:
    return conv.parts * conv.groups * channelBlocks * filterBlocks;
  }
}

Convolution::Tile Convolution::tile(int64_t index) const {
  int64_t image = index / outputBlocks * block.images,
          output = index % outputBlocks * block.outputs;
  return {image, std::min(block.images, conv.batch - image), output,
          std::min(block.outputs, outputs - output)};
}

hs_gemm Convolution::gemmOf(Size size) const {
  int64_t rows = size.channels * points, columns = size.columns;
  int64_t filterLeading = storageType == operandType ? conv.input_channels * points : rows;
  int64_t patchLeading = isPatchless ? inputs : columns;
  int64_t outputLeading = isOutputInPlace ? outputs : columns;
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return asGemm({false, false, size.outputChannels, columns, rows, filterLeading, patchLeading,
                   outputLeading});
  case HS_CONV_INPUT_GRADIENT:
    return asGemm({true, false, rows, columns, size.outputChannels, filterLeading, outputLeading,
                   patchLeading});
  default:
    return asGemm({false, true, rows, size.outputChannels, columns, patchLeading, outputLeading,
                   size.outputChannels});
  }
}

void Convolution::run(void *const *buffers, int64_t lo, int64_t hi) {
  runUnits<Runner>(*static_cast<const Convolution *>(buffers[3]), buffers, lo, hi);
}

} // namespace halfstep::runtime

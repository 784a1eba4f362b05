//===- ChannelsLastConvolution.cpp - Convolutions whose channels lie together -----------------===//
//
// What is decided when a convolution is loaded; ChannelsLastRunner.h has what runs.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/ChannelsLastConvolution.h"

#include "runtime/ChannelsLastRunner.h"
#include "runtime/Parts.h"

#include <algorithm>

namespace halfstep::runtime {

ChannelsLastConvolution::ChannelsLastConvolution(const hs_conv &conv, const WorkerMemory &scratch,
                                                 OneDnn *oneDnn)
    : PatchConvolution(conv, scratch, oneDnn), block(chooseChannelsLastBlock(conv)) {
  const Size size{block.rows, block.points * block.channels, block.outputChannels, false};
  decideByTypes();
  if (!BlockProduct::isSupported(gemmOf(size))) {
    operandType = HS_F32;
    decideByTypes();
  }
  offsets = layOutScratch(conv, block);
  createProducts();
}

int64_t ChannelsLastConvolution::rowBlocks() const {
  return ceilDiv(conv.batch * outputs, block.rows);
}

int64_t ChannelsLastConvolution::depthBlocks() const {
  return ceilDiv(points, block.points) * ceilDiv(conv.input_channels, block.channels);
}

int64_t ChannelsLastConvolution::filterBlocks() const {
  return ceilDiv(conv.output_channels, block.outputChannels);
}

int64_t ChannelsLastConvolution::positionBlocks() const { return ceilDiv(inputs, block.positions); }

int64_t ChannelsLastConvolution::units() const {
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return rowBlocks() * conv.groups * filterBlocks();
  case HS_CONV_INPUT_GRADIENT:
    return ceilDiv(conv.batch, block.images) * conv.groups *
           ceilDiv(conv.input_channels, block.channels) * positionBlocks();
  default:
    return conv.parts * conv.groups * depthBlocks() * filterBlocks();
  }
}

/// Sizes of the parts of `whole`: `part`, and what is left if that is another.
static std::vector<int64_t> partSizes(int64_t whole, int64_t part) {
  int64_t rest = whole % part;
  return rest == 0 ? std::vector{part} : whole < part ? std::vector{rest} : std::vector{part, rest};
}

void ChannelsLastConvolution::createProducts() {
  std::vector<int64_t> rows;
  if (isKind(HS_CONV_INPUT_GRADIENT))
    for (int64_t images : partSizes(conv.batch, block.images))
      for (int64_t size : partSizes(images * outputs, block.rows))
        rows.push_back(size);
  else
    rows = partSizes(conv.batch * outputs, block.rows);
  for (int64_t size : rows)
    for (int64_t points : partSizes(points, block.points))
      for (int64_t channels : partSizes(conv.input_channels, block.channels))
        for (int64_t outputChannels : partSizes(conv.output_channels, block.outputChannels))
          for (bool accumulate : {false, true}) {
            Size all{size, points * channels, outputChannels, accumulate};
            bool isMade = std::any_of(products.begin(), products.end(),
                                      [&](const auto &made) { return made.first == all; });
            bool isNeeded = !accumulate || !isKind(HS_CONV_INPUT_GRADIENT) || filterBlocks() > 1;
            if (!isMade && isNeeded)
              products.emplace_back(
                  all, std::make_unique<BlockProduct>(oneDnn, gemmOf(all), accumulate));
          }
}

const BlockProduct &ChannelsLastConvolution::product(Size size) const {
  return *std::find_if(products.begin(), products.end(), [&](const auto &made) {
            return made.first == size;
          })->second;
}

hs_gemm ChannelsLastConvolution::gemmOf(Size size) const {
  auto [rows, depth, outputChannels, accumulate] = size;
  int64_t patchLeading = isPatchless ? conv.groups * conv.input_channels : depth;
  int64_t outputLeading = isOutputInPlace ? conv.groups * conv.output_channels : outputChannels;
  int64_t filterLeading = storageType == operandType ? points * conv.input_channels : depth;
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return asGemm(
        {false, true, rows, outputChannels, depth, patchLeading, filterLeading, outputLeading});
  case HS_CONV_INPUT_GRADIENT:
    return asGemm(
        {false, false, rows, depth, outputChannels, outputLeading, filterLeading, patchLeading});
  default:
    return asGemm({true, false, outputChannels, depth, rows, outputLeading, patchLeading,
                   points * conv.input_channels});
  }
}

void ChannelsLastConvolution::run(void *const *buffers, int64_t lo, int64_t hi) {
  runUnits<Runner>(*static_cast<const ChannelsLastConvolution *>(buffers[3]), buffers, lo, hi);
}

} // namespace halfstep::runtime

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

ChannelsLastBlock chooseChannelsLastBlock(const hs_conv &conv) {
  // A block's patches and outputs: a quarter of a megabyte of f32, which second-level caches hold.
  constexpr int64_t elements = 1 << 16;
  // With fewer rows packing the filters shows.
  constexpr int64_t leastRows = 128, mostDepth = 2048, mostGradientDepth = 512;
  // Multiply-adds that are worth a thread: about 10 microseconds of one core.
  constexpr int64_t worthwhile = 1 << 19;
  // Units of an input gradient that are enough for many threads, and channels that fill vectors.
  constexpr int64_t enoughUnits = 8, leastChannels = 32;
  // Input gradients of 16 bits are summed up in scratch memory: a bound for it.
  constexpr int64_t sumElements = 1 << 20;

  int64_t points = volumeOf(conv.window.kernel), outputs = volumeOf(conv.window.output);
  int64_t inputs = volumeOf(conv.window.input), channels = conv.input_channels;
  int64_t depth = points * channels * conv.output_channels; // multiply-adds of an output
  ChannelsLastBlock block{0, points, channels, conv.batch};
  if (conv.kind == HS_CONV_INPUT_GRADIENT) {
    int64_t enough = ceilDiv(worthwhile, depth * outputs);
    block.images = evenPart(conv.batch, std::max(enough, leastRows / outputs));
    int64_t units = ceilDiv(conv.batch, block.images) * conv.groups;
    if (units < enoughUnits && depth * outputs > enoughUnits * worthwhile)
      block.channels = evenPart(channels, std::max(leastChannels, channels * units / enoughUnits));
    if (conv.c_type != HS_F32 && conv.c_type != HS_F64) {
      block.images = std::clamp<int64_t>(sumElements / (inputs * block.channels), 1, block.images);
      block.channels = std::clamp<int64_t>(sumElements / inputs, 1, block.channels);
    }
  }
  int64_t most = conv.kind == HS_CONV_FORWARD ? mostDepth : mostGradientDepth;
  block.channels = evenPart(channels, std::min(block.channels, most));
  block.points = block.channels < channels ? 1 : evenPart(points, most / channels);
  int64_t rows =
      std::max(leastRows, elements / (block.points * block.channels + conv.output_channels));
  int64_t all = outputs * (conv.kind == HS_CONV_INPUT_GRADIENT ? block.images : conv.batch);
  // Whole vectors, and enough blocks for many threads.
  block.rows = all <= leastRows ? all : std::min(all, ceilDiv(evenPart(all, rows), 16) * 16);
  return block;
}

ChannelsLastConvolution::ChannelsLastConvolution(const hs_conv &conv, WorkerMemory &scratch,
                                                 OneDnn *oneDnn)
    : PatchConvolution(conv, scratch, oneDnn), block(chooseChannelsLastBlock(conv)) {
  int64_t depth = block.points * block.channels;
  decideByTypes();
  if (!BlockProduct::isSupported(gemmOf(block.rows, depth))) {
    operandType = HS_F32;
    decideByTypes();
  }
  bool isOfInput = isKind(HS_CONV_INPUT_GRADIENT);
  bool areWidened = storageType != operandType && (isOfInput || isKind(HS_CONV_FORWARD));
  bool areSummed = storageType != sumType && isOfInput;
  reserveScratch(isPatchless ? 0 : block.rows * depth,
                 isOutputInPlace ? 0 : block.rows * conv.output_channels,
                 areWidened ? conv.output_channels * depth : 0,
                 areSummed ? block.images * inputs * block.channels : 0);
  createProducts();
}

int64_t ChannelsLastConvolution::rowBlocks() const {
  return ceilDiv(conv.batch * outputs, block.rows);
}

int64_t ChannelsLastConvolution::depthBlocks() const {
  return ceilDiv(points, block.points) * ceilDiv(conv.input_channels, block.channels);
}

int64_t ChannelsLastConvolution::units() const {
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return rowBlocks() * conv.groups;
  case HS_CONV_INPUT_GRADIENT:
    return ceilDiv(conv.batch, block.images) * conv.groups *
           ceilDiv(conv.input_channels, block.channels);
  default:
    return conv.parts * conv.groups * depthBlocks();
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
        for (bool accumulate : {false, true}) {
          Size all{size, points * channels, accumulate};
          bool isMade = std::any_of(products.begin(), products.end(),
                                    [&](const auto &made) { return made.first == all; });
          if (!isMade && !(accumulate && isKind(HS_CONV_INPUT_GRADIENT)))
            products.emplace_back(
                all, std::make_unique<BlockProduct>(oneDnn, gemmOf(size, all.depth), accumulate));
        }
}

const BlockProduct &ChannelsLastConvolution::product(Size size) const {
  return *std::find_if(products.begin(), products.end(), [&](const auto &made) {
            return made.first == size;
          })->second;
}

/// The product of a block of so many rows and so much depth.
hs_gemm ChannelsLastConvolution::gemmOf(int64_t rows, int64_t depth) const {
  int64_t patchLeading = isPatchless ? conv.groups * conv.input_channels : depth;
  int64_t outputLeading =
      isOutputInPlace ? conv.groups * conv.output_channels : conv.output_channels;
  int64_t filterLeading = storageType == operandType ? points * conv.input_channels : depth;
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return asGemm({false, true, rows, conv.output_channels, depth, patchLeading, filterLeading,
                   outputLeading});
  case HS_CONV_INPUT_GRADIENT:
    return asGemm({false, false, rows, depth, conv.output_channels, outputLeading, filterLeading,
                   patchLeading});
  default:
    return asGemm({true, false, conv.output_channels, depth, rows, outputLeading, patchLeading,
                   points * conv.input_channels});
  }
}

void ChannelsLastConvolution::run(void *const *buffers, int64_t lo, int64_t hi) {
  runUnits<Runner>(*static_cast<const ChannelsLastConvolution *>(buffers[3]), buffers, lo, hi);
}

} // namespace halfstep::runtime

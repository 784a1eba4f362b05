//===- ConvolutionBlock.cpp - How a convolution is cut
//------------------------------------------===//
//
// What bounds scratch memory (Scratch.h), in elements: patches, outputs and widened filters of a
// block, and the sums of an input gradient. The cut of the output channels bounds all that they are
// a side of; most convolutions have so few that it leaves them whole.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/ConvolutionBlock.h"

#include "runtime/Parts.h"
#include "runtime/Types.h"
#include "runtime/Window.h"

#include <algorithm>

namespace halfstep::runtime {

// A block's patches and outputs: a quarter of a megabyte of f32, which second-level caches hold.
static constexpr int64_t cachedElements = 1 << 16;
// With fewer columns packing shows, which are rows where channels are last.
static constexpr int64_t leastColumns = 128;
// Multiply-adds that are worth a thread: about 10 microseconds of one core.
static constexpr int64_t worthwhile = 1 << 19;
// Input gradients of 16 bits are summed up in scratch memory, as weight gradients are, and filters
// of 16 bits are widened there.
static constexpr int64_t mostSums = 1 << 20, mostFilters = 1 << 20;
// Outputs of `leastColumns` of that many channels are a megabyte of f32.
static constexpr int64_t mostOutputChannels = 2048;
// Patches of one window.
static constexpr int64_t mostPatches = 1 << 18;

/// Output channels of a block whose patches have `depth` rows.
static int64_t chooseOutputChannels(const hs_conv &conv, int64_t depth) {
  bool hasFilters = isHalf(conv.a_type) && conv.kind != HS_CONV_WEIGHT_GRADIENT;
  bool hasSums = conv.kind == HS_CONV_WEIGHT_GRADIENT && !conv.channels_last;
  int64_t most = mostOutputChannels;
  if (hasFilters || hasSums)
    most = std::min(most, (hasFilters ? mostFilters : mostSums) / depth);
  return evenPart(conv.output_channels, most);
}

//===------------------------------------------------------------------------------------------===//
// Channels first
//===------------------------------------------------------------------------------------------===//

ConvolutionBlock chooseConvolutionBlock(const hs_conv &conv) {
  // With fewer rows packing shows too: they are the depth of a forward product and a side of the
  // gradients'.
  constexpr int64_t mostDepth = 2048, enoughRows = 192;

  int64_t points = volumeOf(conv.window.kernel), outputs = volumeOf(conv.window.output);
  int64_t inputs = volumeOf(conv.window.input);
  ConvolutionBlock block{1, outputs, conv.input_channels, conv.output_channels, inputs};
  bool hasSums = conv.kind == HS_CONV_INPUT_GRADIENT && isHalf(conv.c_type);
  int64_t rows = conv.kind == HS_CONV_FORWARD ? mostDepth : enoughRows;
  int64_t channels = std::max<int64_t>(1, rows / points);
  if (hasSums) {
    channels = std::clamp<int64_t>(mostSums / inputs, 1, channels);
    block.positions = std::min(inputs, mostSums);
  }
  block.channels = evenPart(block.channels, channels);
  int64_t patch = block.channels * points;
  block.outputChannels = chooseOutputChannels(conv, patch);
  int64_t columns = std::max(std::clamp<int64_t>(mostPatches / patch, 1, leastColumns),
                             cachedElements / (patch + conv.output_channels));
  if (outputs > columns) {
    block.outputs = evenPart(outputs, columns);
    if (columns >= 16) // whole vectors
      block.outputs = ceilDiv(block.outputs, 16) * 16;
    return block;
  }
  int64_t enough = ceilDiv(worthwhile, patch * conv.output_channels * outputs);
  int64_t images = std::min({conv.batch, columns / outputs, enough});
  if (hasSums)
    images = std::clamp<int64_t>(mostSums / (inputs * block.channels), 1, images);
  if (conv.kind == HS_CONV_WEIGHT_GRADIENT)
    images = std::min(images, ceilDiv(conv.batch, conv.parts));
  block.images = evenPart(conv.batch, images);
  return block;
}

bool readsEachOnce(const hs_conv &conv) {
  const hs_window &window = conv.window;
  return volumeOf(window.kernel) == 1 && volumeOf(window.input) == volumeOf(window.output) &&
         volumeOf(window.stride) == 1;
}

/// Begins each part at a cache line.
static ConvolutionScratch layOut(int64_t patches, int64_t outputs, int64_t filters, int64_t sums) {
  auto lines = [](int64_t elements) { return ceilDiv(elements, 16) * 16; };
  ConvolutionScratch scratch{};
  scratch.outputs = lines(patches);
  scratch.filters = scratch.outputs + lines(outputs);
  scratch.sums = scratch.filters + lines(filters);
  scratch.end = scratch.sums + lines(sums);
  return scratch;
}

ConvolutionScratch layOutScratch(const hs_conv &conv, const ConvolutionBlock &block) {
  int64_t rows = block.channels * volumeOf(conv.window.kernel);
  int64_t columns = block.images * block.outputs;
  bool isNarrow = isHalf(conv.a_type), isOneImage = block.images == 1;
  bool isOfInput = conv.kind == HS_CONV_INPUT_GRADIENT,
       isOfWeight = conv.kind == HS_CONV_WEIGHT_GRADIENT;
  bool isCut = isOfWeight && block.outputs < volumeOf(conv.window.output);
  bool arePatchesInPlace = !isNarrow && isOneImage && readsEachOnce(conv);
  bool areOutputsInPlace = !isNarrow && isOneImage && !isCut;
  int64_t sums = isOfWeight              ? rows * block.outputChannels
                 : isOfInput && isNarrow ? block.images * block.channels * block.positions
                                         : 0;
  return layOut(arePatchesInPlace ? 0 : rows * columns,
                areOutputsInPlace ? 0 : block.outputChannels * columns,
                isNarrow && !isOfWeight ? block.outputChannels * rows : 0, sums);
}

//===------------------------------------------------------------------------------------------===//
// Channels last
//===------------------------------------------------------------------------------------------===//

ChannelsLastBlock chooseChannelsLastBlock(const hs_conv &conv) {
  constexpr int64_t mostDepth = 2048, mostGradientDepth = 512;
  // Units of an input gradient that are enough for many threads, and channels that fill vectors.
  constexpr int64_t enoughUnits = 8, leastChannels = 32;

  int64_t points = volumeOf(conv.window.kernel), outputs = volumeOf(conv.window.output);
  int64_t inputs = volumeOf(conv.window.input), channels = conv.input_channels;
  int64_t depth = points * channels * conv.output_channels; // multiply-adds of an output
  ChannelsLastBlock block{0, points, channels, conv.batch, conv.output_channels, inputs};
  if (conv.kind == HS_CONV_INPUT_GRADIENT) {
    int64_t enough = ceilDiv(worthwhile, depth * outputs);
    block.images = evenPart(conv.batch, std::max(enough, leastColumns / outputs));
    int64_t units = ceilDiv(conv.batch, block.images) * conv.groups;
    if (units < enoughUnits && depth * outputs > enoughUnits * worthwhile)
      block.channels = evenPart(channels, std::max(leastChannels, channels * units / enoughUnits));
    if (isHalf(conv.c_type)) {
      block.images = std::clamp<int64_t>(mostSums / (inputs * block.channels), 1, block.images);
      block.channels = std::clamp<int64_t>(mostSums / inputs, 1, block.channels);
      block.positions = std::min(inputs, mostSums);
    }
  }
  int64_t most = conv.kind == HS_CONV_FORWARD ? mostDepth : mostGradientDepth;
  block.channels = evenPart(channels, std::min(block.channels, most));
  block.points = block.channels < channels ? 1 : evenPart(points, most / channels);
  block.outputChannels = chooseOutputChannels(conv, block.points * block.channels);
  int64_t rows = std::max(leastColumns,
                          cachedElements / (block.points * block.channels + conv.output_channels));
  int64_t all = outputs * (conv.kind == HS_CONV_INPUT_GRADIENT ? block.images : conv.batch);
  // Whole vectors, and enough blocks for many threads.
  block.rows = all <= leastColumns ? all : std::min(all, ceilDiv(evenPart(all, rows), 16) * 16);
  return block;
}

ConvolutionScratch layOutScratch(const hs_conv &conv, const ChannelsLastBlock &block) {
  int64_t depth = block.points * block.channels;
  bool isNarrow = isHalf(conv.a_type);
  bool isOfInput = conv.kind == HS_CONV_INPUT_GRADIENT,
       isOfWeight = conv.kind == HS_CONV_WEIGHT_GRADIENT;
  int64_t sums = block.images * block.positions * block.channels;
  return layOut(!isNarrow && readsEachOnce(conv) ? 0 : block.rows * depth,
                isNarrow ? block.rows * block.outputChannels : 0,
                isNarrow && !isOfWeight ? block.outputChannels * depth : 0,
                isNarrow && isOfInput ? sums : 0);
}

//===------------------------------------------------------------------------------------------===//
// Depthwise
//===------------------------------------------------------------------------------------------===//

// Elements of the filters of a block: a megabyte of f32.
static constexpr int64_t mostDepthwiseFilters = 1 << 18;

int64_t depthwiseLanes(const hs_conv &conv) { return conv.a_type == HS_F64 ? 4 : 8; }

static int64_t depthwiseTogether(const hs_conv &conv) {
  return depthwiseVectors * depthwiseLanes(conv);
}

bool isDepthwise(const hs_conv &conv) {
  return conv.channels_last && conv.input_channels == 1 && conv.output_channels == 1 &&
         conv.groups >= depthwiseLanes(conv) &&
         volumeOf(conv.window.kernel) * depthwiseTogether(conv) <= mostDepthwiseFilters;
}

DepthwiseBlock chooseDepthwiseBlock(const hs_conv &conv) {
  int64_t together = depthwiseTogether(conv), channels = together;
  if (conv.kind != HS_CONV_WEIGHT_GRADIENT)
    channels *= mostDepthwiseFilters / (volumeOf(conv.window.kernel) * together);
  return {channels, std::max<int64_t>(1, conv.groups / channels)};
}

DepthwiseScratch layOutScratch(const hs_conv &conv, const DepthwiseBlock &block) {
  bool isOfWeight = conv.kind == HS_CONV_WEIGHT_GRADIENT;
  int64_t channels =
      isOfWeight ? depthwiseTogether(conv) : conv.groups - block.first(block.count - 1);
  int64_t rows = isOfWeight ? 0 : conv.window.kernel[0] * conv.window.kernel[1];
  return {ceilDiv(volumeOf(conv.window.kernel) * channels, 16) * 16, rows};
}

} // namespace halfstep::runtime

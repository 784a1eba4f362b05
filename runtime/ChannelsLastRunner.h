//===- ChannelsLastRunner.h - The units of a channels-last convolution --------------*- C++ -*-===//
//
// Written once for all types. Only ChannelsLastConvolution.cpp includes it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CHANNELSLASTRUNNER_H
#define HALFSTEP_RUNTIME_CHANNELSLASTRUNNER_H

#include "runtime/ChannelsLastConvolution.h"
#include "runtime/ChannelsLastPatches.h"
#include "runtime/ThreadPool.h"

#include <type_traits>

namespace halfstep::runtime {

/// `rows` rows of `count` numbers, `fromLeading` and `toLeading` apart.
template <typename To, typename From>
WITH_AVX2 void convertRows(const From *from, int64_t fromLeading, int64_t rows, int64_t count,
                           To *to, int64_t toLeading) {
  for (int64_t row = 0; row < rows; ++row)
    convertRow(from + row * fromLeading, 1, count, to + row * toLeading);
}

template <typename Storage, typename Operand, typename Sum> class ChannelsLastConvolution::Runner {
public:
  Runner(const ChannelsLastConvolution &of, void *const *buffers)
      : of(of), conv(of.conv), block(of.block), worker(ThreadPool::workerIndex()),
        inChannels(conv.groups * conv.input_channels),
        outChannels(conv.groups * conv.output_channels),
        filterSize(of.points * conv.input_channels),
        scratch(reinterpret_cast<Sum *>(of.scratch.at(worker))) {
    auto slices = of.slicesOf(buffers);
    x = static_cast<Storage *>(slices.x);
    w = slices.w;
    y = static_cast<Storage *>(slices.y);
  }

  void run(int64_t unit) const {
    bool isOfInput = of.isKind(HS_CONV_INPUT_GRADIENT);
    int64_t parts = isOfInput ? of.positionBlocks() : of.filterBlocks();
    int64_t part = unit % parts, rest = unit / parts;
    if (of.isKind(HS_CONV_FORWARD))
      return forward(rest / conv.groups, filterBlock(part, rest % conv.groups));
    int64_t blocks = isOfInput ? ceilDiv(conv.input_channels, block.channels) : of.depthBlocks();
    int64_t index = rest % blocks, group = rest / blocks % conv.groups;
    int64_t first = rest / blocks / conv.groups;
    if (isOfInput)
      inputGradient(first, group, index, positionsOf(part));
    else
      weightGradient(first, index, filterBlock(part, group));
  }

private:
  // Points of the window and channels of a group.
  struct DepthBlock : Depth {
    int64_t group, firstChannel;
  };

  DepthBlock depthBlock(int64_t group, int64_t index) const {
    int64_t channelBlocks = ceilDiv(conv.input_channels, block.channels);
    int64_t point = index / channelBlocks * block.points;
    int64_t channel = index % channelBlocks * block.channels;
    return {{point, std::min(block.points, of.points - point),
             std::min(block.channels, conv.input_channels - channel), inChannels},
            group,
            channel};
  }

  // Channels of y, of a group.
  struct Filters {
    int64_t group, first, count;
  };

  Filters filterBlock(int64_t index, int64_t group) const {
    int64_t first = index * block.outputChannels;
    return {group, first, std::min(block.outputChannels, conv.output_channels - first)};
  }

  Range positionsOf(int64_t index) const {
    int64_t first = index * block.positions;
    return {first, std::min(first + block.positions, of.inputs)};
  }

  Storage *inputs(const DepthBlock &depth) const {
    return x + depth.group * conv.input_channels + depth.firstChannel;
  }
  Storage *outputs(int64_t row, const Filters &filters) const {
    return y + row * outChannels + filters.group * conv.output_channels + filters.first;
  }
  int64_t filterOffset(const DepthBlock &depth, const Filters &filters) const {
    return (depth.group * conv.output_channels + filters.first) * filterSize +
           depth.firstPoint * conv.input_channels + depth.firstChannel;
  }

  void forward(int64_t rowBlock, const Filters &filters) const {
    int64_t first = rowBlock * block.rows,
            last = std::min(first + block.rows, conv.batch * of.outputs);
    Sum *result = scratch + of.offsets.outputs;
    if constexpr (std::is_same_v<Storage, Sum>)
      result = outputs(first, filters);
    for (int64_t i = 0; i < of.depthBlocks(); ++i) {
      DepthBlock depth = depthBlock(filters.group, i);
      of.product({last - first, depth.size(), filters.count, i != 0})
          .run(worker, patchesOf(depth, first, last), filtersOf(depth, filters), result);
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      convertRows(result, filters.count, last - first, filters.count, outputs(first, filters),
                  outChannels);
  }

  void inputGradient(int64_t imageBlock, int64_t group, int64_t channelBlock,
                     Range positions) const {
    int64_t image = imageBlock * block.images;
    int64_t images = std::min(block.images, conv.batch - image);
    DepthBlock whole = depthBlock(group, channelBlock);
    Storage *dx = inputs(whole) + (image * of.inputs + positions.first) * inChannels;
    int64_t pixels = images * (positions.last - positions.first);
    // Summed up right in dx, or in scratch memory and rounded once.
    Sum *sums = scratch + of.offsets.sums;
    int64_t pixel = whole.channels;
    if constexpr (std::is_same_v<Storage, Sum>)
      sums = dx, pixel = inChannels;
    if (!of.isPatchless)
      for (int64_t i = 0; i < pixels; ++i)
        std::fill_n(sums + i * pixel, whole.channels, Sum(0));

    for (int64_t first = 0; first < images * of.outputs; first += block.rows) {
      int64_t last = std::min(first + block.rows, images * of.outputs);
      // Several images have all their positions.
      if (images == 1 && !overlap(positions, positionsRead(conv.window, first, last)))
        continue;
      for (int64_t i = 0; i < of.filterBlocks(); ++i)
        addInputGradient(image, first, last, channelBlock, filterBlock(i, group), positions, sums,
                         pixel);
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      convertRows(sums, pixel, pixels, whole.channels, dx, inChannels);
  }

  /// What rows [first, last) of dy give to the sums, which begin at the first of the positions.
  void addInputGradient(int64_t image, int64_t first, int64_t last, int64_t channelBlock,
                        const Filters &filters, Range positions, Sum *sums, int64_t pixel) const {
    const Operand *dy = outputsOf(image * of.outputs + first, last - first, filters);
    int64_t channelBlocks = ceilDiv(conv.input_channels, block.channels);
    for (int64_t i = channelBlock; i < of.depthBlocks(); i += channelBlocks) {
      DepthBlock depth = depthBlock(filters.group, i);
      Sum *patches = of.isPatchless ? sums + first * pixel : scratch;
      of.product({last - first, depth.size(), filters.count, of.isPatchless && filters.first != 0})
          .run(worker, dy, filtersOf(depth, filters), patches);
      depth.pixel = pixel;
      if (!of.isPatchless)
        addPatches(conv.window, depth, patches, first, last, positions, sums);
    }
  }

  void weightGradient(int64_t part, int64_t index, const Filters &filters) const {
    DepthBlock depth = depthBlock(filters.group, index);
    Sum *sums = static_cast<Sum *>(w) + part * conv.groups * conv.output_channels * filterSize +
                filterOffset(depth, filters);
    int64_t blocks = of.rowBlocks();
    int64_t begin = part * blocks / conv.parts, end = (part + 1) * blocks / conv.parts;
    if (begin == end)
      for (int64_t output = 0; output < filters.count; ++output)
        std::fill_n(sums + output * filterSize, depth.size(), Sum(0));
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = i * block.rows, last = std::min(first + block.rows, conv.batch * of.outputs);
      of.product({last - first, depth.size(), filters.count, i != begin})
          .run(worker, outputsOf(first, last - first, filters), patchesOf(depth, first, last),
               sums);
    }
  }

  // The operands of products: where they are, or gathered and converted in scratch memory.

  const Operand *patchesOf(const DepthBlock &depth, int64_t first, int64_t last) const {
    if constexpr (std::is_same_v<Storage, Operand>)
      if (of.isPatchless)
        return inputs(depth) + first * inChannels;
    auto *patches = reinterpret_cast<Operand *>(scratch);
    gatherPatches(conv.window, depth, inputs(depth), first, last, patches);
    return patches;
  }

  const Operand *outputsOf(int64_t first, int64_t rows, const Filters &filters) const {
    if constexpr (std::is_same_v<Storage, Operand>) {
      return outputs(first, filters);
    } else {
      auto *widened = scratch + of.offsets.outputs;
      convertRows(outputs(first, filters), outChannels, rows, filters.count, widened,
                  filters.count);
      return widened;
    }
  }

  const Operand *filtersOf(const DepthBlock &depth, const Filters &filters) const {
    auto *stored = static_cast<const Storage *>(w) + filterOffset(depth, filters);
    if constexpr (std::is_same_v<Storage, Operand>) {
      return stored;
    } else {
      auto *widened = scratch + of.offsets.filters;
      convertRows(stored, filterSize, filters.count, depth.size(), widened, depth.size());
      return widened;
    }
  }

  const ChannelsLastConvolution &of;
  const hs_conv &conv;
  const ChannelsLastBlock &block;
  int worker;
  int64_t inChannels, outChannels, filterSize;
  Sum *scratch;
  Storage *x, *y;
  void *w; // the weight gradient is of the sums' type
};

} // namespace halfstep::runtime

#endif

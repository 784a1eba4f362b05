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
    if (of.isKind(HS_CONV_FORWARD))
      return forward(unit / conv.groups, unit % conv.groups);
    int64_t blocks = of.isKind(HS_CONV_INPUT_GRADIENT)
                         ? ceilDiv(conv.input_channels, block.channels)
                         : of.depthBlocks();
    int64_t group = unit / blocks % conv.groups, first = unit / blocks / conv.groups;
    if (of.isKind(HS_CONV_INPUT_GRADIENT))
      inputGradient(first, group, unit % blocks);
    else
      weightGradient(first, group, unit % blocks);
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

  Storage *inputs(const DepthBlock &depth) const {
    return x + depth.group * conv.input_channels + depth.firstChannel;
  }
  Storage *outputs(int64_t row, int64_t group) const {
    return y + row * outChannels + group * conv.output_channels;
  }
  int64_t filterOffset(const DepthBlock &depth) const {
    return depth.group * conv.output_channels * filterSize +
           depth.firstPoint * conv.input_channels + depth.firstChannel;
  }

  void forward(int64_t rowBlock, int64_t group) const {
    int64_t first = rowBlock * block.rows,
            last = std::min(first + block.rows, conv.batch * of.outputs);
    Sum *result = scratch + of.offsets.outputs;
    if constexpr (std::is_same_v<Storage, Sum>)
      result = outputs(first, group);
    for (int64_t i = 0; i < of.depthBlocks(); ++i) {
      DepthBlock depth = depthBlock(group, i);
      of.product({last - first, depth.size(), i != 0})
          .run(worker, patchesOf(depth, first, last), filtersOf(depth), result);
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      convertRows(result, conv.output_channels, last - first, conv.output_channels,
                  outputs(first, group), outChannels);
  }

  void inputGradient(int64_t imageBlock, int64_t group, int64_t channelBlock) const {
    int64_t image = imageBlock * block.images;
    int64_t images = std::min(block.images, conv.batch - image);
    int64_t channelBlocks = ceilDiv(conv.input_channels, block.channels);
    DepthBlock whole = depthBlock(group, channelBlock);
    Storage *dx = inputs(whole) + image * of.inputs * inChannels;
    // Summed up right in dx, or in scratch memory and rounded once.
    Sum *sums = scratch + of.offsets.sums;
    int64_t pixel = whole.channels;
    if constexpr (std::is_same_v<Storage, Sum>)
      sums = dx, pixel = inChannels;
    if (!of.isPatchless)
      for (int64_t i = 0; i < images * of.inputs; ++i)
        std::fill_n(sums + i * pixel, whole.channels, Sum(0));

    for (int64_t first = 0; first < images * of.outputs; first += block.rows) {
      int64_t last = std::min(first + block.rows, images * of.outputs);
      const Operand *dy = outputsOf(image * of.outputs + first, last - first, group);
      for (int64_t i = channelBlock; i < of.depthBlocks(); i += channelBlocks) {
        DepthBlock depth = depthBlock(group, i);
        Sum *patches = of.isPatchless ? sums + first * pixel : scratch;
        of.product({last - first, depth.size(), false}).run(worker, dy, filtersOf(depth), patches);
        depth.pixel = pixel;
        if (!of.isPatchless)
          addPatches(conv.window, depth, patches, first, last, sums);
      }
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      convertRows(sums, pixel, images * of.inputs, whole.channels, dx, inChannels);
  }

  void weightGradient(int64_t part, int64_t group, int64_t index) const {
    DepthBlock depth = depthBlock(group, index);
    Sum *sums = static_cast<Sum *>(w) + part * conv.groups * conv.output_channels * filterSize +
                filterOffset(depth);
    int64_t blocks = of.rowBlocks();
    int64_t begin = part * blocks / conv.parts, end = (part + 1) * blocks / conv.parts;
    if (begin == end)
      for (int64_t output = 0; output < conv.output_channels; ++output)
        std::fill_n(sums + output * filterSize, depth.size(), Sum(0));
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = i * block.rows, last = std::min(first + block.rows, conv.batch * of.outputs);
      of.product({last - first, depth.size(), i != begin})
          .run(worker, outputsOf(first, last - first, group), patchesOf(depth, first, last), sums);
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

  const Operand *outputsOf(int64_t first, int64_t rows, int64_t group) const {
    if constexpr (std::is_same_v<Storage, Operand>) {
      return outputs(first, group);
    } else {
      auto *widened = scratch + of.offsets.outputs;
      convertRows(outputs(first, group), outChannels, rows, conv.output_channels, widened,
                  conv.output_channels);
      return widened;
    }
  }

  const Operand *filtersOf(const DepthBlock &depth) const {
    auto *filters = static_cast<const Storage *>(w) + filterOffset(depth);
    if constexpr (std::is_same_v<Storage, Operand>) {
      return filters;
    } else {
      auto *widened = scratch + of.offsets.filters;
      convertRows(filters, filterSize, conv.output_channels, depth.size(), widened, depth.size());
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

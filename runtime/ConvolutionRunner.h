//===- ConvolutionRunner.h - The units of a convolution -----------------------------*- C++ -*-===//
//
// Written once for all types. Only Convolution.cpp includes it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CONVOLUTIONRUNNER_H
#define HALFSTEP_RUNTIME_CONVOLUTIONRUNNER_H

#include "runtime/Convolution.h"
#include "runtime/Parts.h"
#include "runtime/Rows.h"
#include "runtime/ThreadPool.h"
#include "runtime/Window.h"

#include <algorithm>
#include <type_traits>

namespace halfstep::runtime {

//===------------------------------------------------------------------------------------------===//
// Patches
//===------------------------------------------------------------------------------------------===//

template <typename To, typename From>
WITH_AVX2 static void gatherPatches(const hs_window &window, const From *x, int64_t begin,
                                    int64_t end, To *patches, int64_t leading) {
  forEachPoint(window, [&](const int64_t(&k)[3]) {
    forEachRow(window, k, begin, end, [&](const WindowRow &row) {
      To *to = patches + row.output;
      int64_t count = row.inside.last - row.inside.first;
      std::fill_n(to, row.inside.first, To{});
      if (window.stride[2] == 1) // a loop of its own, which a compiler vectorises
        convertRow(x + row.input, 1, count, to + row.inside.first);
      else
        convertRow(x + row.input, window.stride[2], count, to + row.inside.first);
      std::fill_n(to + row.inside.last, row.length - row.inside.last, To{});
    });
    patches += leading;
  });
}

/// Adds to `x`, which is the positions [begin, end) of a plane.
template <typename T>
WITH_AVX2 static void addPatches(const hs_window &window, const T *patches, int64_t leading,
                                 Range outputs, Range positions, T *x) {
  forEachPoint(window, [&](const int64_t(&k)[3]) {
    forEachRow(window, k, outputs.first, outputs.last, [&](const WindowRow &row) {
      const T *from = patches + row.output + row.inside.first;
      int64_t step = window.stride[2], start = row.input - positions.first;
      int64_t count = row.inside.last - row.inside.first;
      int64_t size = positions.last - positions.first;
      int64_t first = start < 0 ? std::min(ceilDiv(-start, step), count) : 0;
      if (start + (count - 1) * step >= size) // seldom: no division for rows that lie inside
        count = start < size ? (size - 1 - start) / step + 1 : 0;
      T *to = x + start;
      if (step == 1)
        for (int64_t i = first; i < count; ++i)
          to[i] += from[i];
      else
        for (int64_t i = first; i < count; ++i)
          to[i * step] += from[i];
    });
    patches += leading;
  });
}

//===------------------------------------------------------------------------------------------===//
// Units
//===------------------------------------------------------------------------------------------===//

/// Some images and outputs: the columns of a product.
struct Convolution::Tile {
  int64_t image, images, output, outputs;

  int64_t columns() const { return images * outputs; }
};

template <typename Storage, typename Operand, typename Sum> class Convolution::Runner {
public:
  Runner(const Convolution &of, void *const *buffers)
      : of(of), conv(of.conv), worker(ThreadPool::workerIndex()),
        scratch(reinterpret_cast<Sum *>(of.scratch.at(worker))) {
    auto slices = of.slicesOf(buffers);
    x = static_cast<Storage *>(slices.x);
    w = slices.w;
    y = static_cast<Storage *>(slices.y);
  }

  void run(int64_t unit) const {
    int64_t block = unit % of.filterBlocks, rest = unit / of.filterBlocks;
    if (of.isKind(HS_CONV_FORWARD))
      return forward(of.tile(rest / conv.groups), filterChannels(block, rest % conv.groups));
    if (of.isKind(HS_CONV_INPUT_GRADIENT))
      block = unit % of.positionBlocks, rest = unit / of.positionBlocks;
    int64_t channelBlock = rest % of.channelBlocks;
    rest /= of.channelBlocks;
    int64_t group = rest % conv.groups;
    Channels channels = channelsOf(channelBlock, group);
    if (of.isKind(HS_CONV_INPUT_GRADIENT))
      inputGradient(rest / conv.groups, channels, positionsOf(block));
    else
      weightGradient(rest / conv.groups, channels, filterChannels(block, group));
  }

private:
  struct Channels {
    int64_t group, first, count;
  };

  Channels channelsOf(int64_t block, int64_t group) const {
    int64_t first = block * of.block.channels;
    return {group, first, std::min(of.block.channels, conv.input_channels - first)};
  }

  /// Channels of y.
  Channels filterChannels(int64_t block, int64_t group) const {
    int64_t first = block * of.block.outputChannels;
    return {group, first, std::min(of.block.outputChannels, conv.output_channels - first)};
  }

  Range positionsOf(int64_t block) const {
    int64_t first = block * of.block.positions;
    return {first, std::min(first + of.block.positions, of.inputs)};
  }

  Storage *inputPlane(int64_t image, const Channels &channels) const {
    return x + ((image * conv.groups + channels.group) * conv.input_channels + channels.first) *
                   of.inputs;
  }
  Storage *outputPlane(int64_t image, const Channels &filters) const {
    return y + ((image * conv.groups + filters.group) * conv.output_channels + filters.first) *
                   of.outputs;
  }
  int64_t filterSize() const { return conv.input_channels * of.points; }
  int64_t filterOffset(const Channels &channels, const Channels &filters) const {
    return (filters.group * conv.output_channels + filters.first) * filterSize() +
           channels.first * of.points;
  }

  const BlockProduct &product(const Channels &channels, const Tile &tile, const Channels &filters,
                              bool accumulate) const {
    return *of.products[of.productIndex({channels.count, tile.columns(), filters.count},
                                        accumulate)];
  }

  void forward(const Tile &tile, const Channels &filters) const {
    Sum *result = scratch + of.offsets.outputs;
    if constexpr (std::is_same_v<Storage, Sum>)
      if (of.isOutputInPlace)
        result = outputPlane(tile.image, filters) + tile.output;
    for (int64_t block = 0; block < of.channelBlocks; ++block) {
      Channels channels = channelsOf(block, filters.group);
      product(channels, tile, filters, block != 0)
          .run(worker, filtersOf(channels, filters), patchesOf(tile, channels), result);
    }
    if (of.isOutputInPlace)
      return;
    for (int64_t channel = 0; channel < filters.count; ++channel)
      for (int64_t image = 0; image < tile.images; ++image)
        convertRow(result + channel * tile.columns() + image * of.outputs, 1, tile.outputs,
                   outputPlane(tile.image + image, filters) + channel * of.outputs + tile.output);
  }

  void inputGradient(int64_t imageBlock, const Channels &channels, Range positions) const {
    Tile whole = of.tile(imageBlock * of.outputBlocks);
    int64_t size = channels.count * of.block.positions; // of an image
    // The planes are summed up right in dx, or in scratch memory and rounded once.
    Sum *sums = scratch + of.offsets.sums;
    int64_t nextImage = size;
    if constexpr (std::is_same_v<Storage, Sum>) {
      sums = inputPlane(whole.image, channels);
      nextImage = conv.groups * conv.input_channels * of.inputs;
    }
    if (!of.isPatchless)
      for (int64_t image = 0; image < whole.images; ++image)
        std::fill_n(sums + image * nextImage, size, Sum(0));

    for (int64_t block = 0; block < of.filterBlocks; ++block) {
      Channels filters = filterChannels(block, channels.group);
      const Operand *widened = filtersOf(channels, filters);
      for (int64_t i = 0; i < of.outputBlocks; ++i) {
        Tile tile = of.tile(imageBlock * of.outputBlocks + i);
        Range outputs{tile.output, tile.output + tile.outputs};
        if (!overlap(positions, positionsRead(conv.window, outputs.first, outputs.last)))
          continue;
        Sum *patches = of.isPatchless ? sums + tile.output : scratch;
        product(channels, tile, filters, of.isPatchless && block != 0)
            .run(worker, widened, outputsOf(tile, filters), patches);
        if (of.isPatchless)
          continue;
        for (int64_t image = 0; image < tile.images; ++image)
          for (int64_t channel = 0; channel < channels.count; ++channel)
            addPatches(conv.window,
                       patches + channel * of.points * tile.columns() + image * of.outputs,
                       tile.columns(), outputs, positions,
                       sums + image * nextImage + channel * of.block.positions);
      }
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      for (int64_t image = 0; image < whole.images; ++image)
        for (int64_t channel = 0; channel < channels.count; ++channel)
          convertRow(sums + image * nextImage + channel * of.block.positions, 1,
                     positions.last - positions.first,
                     inputPlane(whole.image + image, channels) + channel * of.inputs +
                         positions.first);
  }

  void weightGradient(int64_t part, const Channels &channels, const Channels &filters) const {
    int64_t rows = channels.count * of.points;
    int64_t begin = part * of.tiles() / conv.parts, end = (part + 1) * of.tiles() / conv.parts;
    Sum *sums = scratch + of.offsets.sums; // of w^T
    if (begin == end)
      std::fill_n(sums, rows * filters.count, Sum(0));
    for (int64_t i = begin; i < end; ++i) {
      Tile tile = of.tile(i);
      product(channels, tile, filters, i != begin)
          .run(worker, patchesOf(tile, channels), outputsOf(tile, filters), sums);
    }
    Sum *result = static_cast<Sum *>(w) + part * conv.groups * conv.output_channels * filterSize() +
                  filterOffset(channels, filters);
    for (int64_t output = 0; output < filters.count; ++output)
      convertRow(sums + output, filters.count, rows, result + output * filterSize());
  }

  // The operands of products: where they are, or gathered and converted in scratch memory.

  const Operand *patchesOf(const Tile &tile, const Channels &channels) const {
    if constexpr (std::is_same_v<Storage, Operand>)
      if (of.isPatchless)
        return inputPlane(tile.image, channels) + tile.output;
    auto *patches = reinterpret_cast<Operand *>(scratch);
    for (int64_t image = 0; image < tile.images; ++image)
      for (int64_t channel = 0; channel < channels.count; ++channel)
        gatherPatches(conv.window, inputPlane(tile.image + image, channels) + channel * of.inputs,
                      tile.output, tile.output + tile.outputs,
                      patches + channel * of.points * tile.columns() + image * of.outputs,
                      tile.columns());
    return patches;
  }

  const Operand *outputsOf(const Tile &tile, const Channels &filters) const {
    if constexpr (std::is_same_v<Storage, Operand>)
      if (of.isOutputInPlace)
        return outputPlane(tile.image, filters) + tile.output;
    auto *gathered = reinterpret_cast<Operand *>(scratch + of.offsets.outputs);
    for (int64_t channel = 0; channel < filters.count; ++channel)
      for (int64_t image = 0; image < tile.images; ++image)
        convertRow(outputPlane(tile.image + image, filters) + channel * of.outputs + tile.output, 1,
                   tile.outputs, gathered + channel * tile.columns() + image * of.outputs);
    return gathered;
  }

  const Operand *filtersOf(const Channels &channels, const Channels &filters) const {
    auto *stored = static_cast<const Storage *>(w) + filterOffset(channels, filters);
    if constexpr (std::is_same_v<Storage, Operand>) {
      return stored;
    } else {
      auto *widened = scratch + of.offsets.filters;
      int64_t rows = channels.count * of.points;
      for (int64_t output = 0; output < filters.count; ++output)
        convertRow(stored + output * filterSize(), 1, rows, widened + output * rows);
      return widened;
    }
  }

  const Convolution &of;
  const hs_conv &conv;
  int worker;
  Sum *scratch;
  Storage *x, *y;
  void *w; // the weight gradient is of the sums' type
};

} // namespace halfstep::runtime

#endif

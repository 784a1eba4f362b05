//===- ConvolutionRunner.h - The units of a convolution -----------------------------*- C++ -*-===//
//
// Written once for all types. Only Convolution.cpp includes it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CONVOLUTIONRUNNER_H
#define HALFSTEP_RUNTIME_CONVOLUTIONRUNNER_H

#include "runtime/Convolution.h"
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

template <typename T>
WITH_AVX2 static void addPatches(const hs_window &window, const T *patches, int64_t leading,
                                 int64_t begin, int64_t end, T *x) {
  forEachPoint(window, [&](const int64_t(&k)[3]) {
    forEachRow(window, k, begin, end, [&](const WindowRow &row) {
      const T *from = patches + row.output + row.inside.first;
      T *to = x + row.input;
      int64_t step = window.stride[2], count = row.inside.last - row.inside.first;
      if (step == 1)
        for (int64_t i = 0; i < count; ++i)
          to[i] += from[i];
      else
        for (int64_t i = 0; i < count; ++i)
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
    if (of.isKind(HS_CONV_FORWARD))
      return forward(of.tile(unit / conv.groups), unit % conv.groups);
    int64_t group = unit / of.channelBlocks % conv.groups;
    int64_t block = unit / of.channelBlocks / conv.groups;
    Channels channels = channelsOf(unit % of.channelBlocks, group);
    if (of.isKind(HS_CONV_INPUT_GRADIENT))
      inputGradient(block, channels);
    else
      weightGradient(block, channels);
  }

private:
  struct Channels {
    int64_t group, first, count;
  };

  Channels channelsOf(int64_t block, int64_t group) const {
    int64_t first = block * of.block.channels;
    return {group, first, std::min(of.block.channels, conv.input_channels - first)};
  }

  Storage *inputPlane(int64_t image, const Channels &channels) const {
    return x + ((image * conv.groups + channels.group) * conv.input_channels + channels.first) *
                   of.inputs;
  }
  Storage *outputPlane(int64_t image, int64_t group, int64_t channel) const {
    return y + ((image * conv.groups + group) * conv.output_channels + channel) * of.outputs;
  }
  int64_t filterSize() const { return conv.input_channels * of.points; }

  void forward(const Tile &tile, int64_t group) const {
    Sum *result = scratch + of.offsets.outputs;
    if constexpr (std::is_same_v<Storage, Sum>)
      if (of.isOutputInPlace)
        result = outputPlane(tile.image, group, 0) + tile.output;
    for (int64_t block = 0; block < of.channelBlocks; ++block) {
      Channels channels = channelsOf(block, group);
      of.product(channels.count, tile.columns(), block != 0)
          .run(worker, filtersOf(channels), patchesOf(tile, channels), result);
    }
    if (of.isOutputInPlace)
      return;
    for (int64_t channel = 0; channel < conv.output_channels; ++channel)
      for (int64_t image = 0; image < tile.images; ++image)
        convertRow(result + channel * tile.columns() + image * of.outputs, 1, tile.outputs,
                   outputPlane(tile.image + image, group, channel) + tile.output);
  }

  void inputGradient(int64_t imageBlock, const Channels &channels) const {
    Tile whole = of.tile(imageBlock * of.outputBlocks);
    int64_t size = channels.count * of.inputs; // of an image
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

    const Operand *filters = filtersOf(channels);
    for (int64_t i = 0; i < of.outputBlocks; ++i) {
      Tile tile = of.tile(imageBlock * of.outputBlocks + i);
      Sum *patches = of.isPatchless ? sums + tile.output : scratch;
      of.product(channels.count, tile.columns(), false)
          .run(worker, filters, outputsOf(tile, channels.group), patches);
      if (of.isPatchless)
        continue;
      for (int64_t image = 0; image < tile.images; ++image)
        for (int64_t channel = 0; channel < channels.count; ++channel)
          addPatches(conv.window,
                     patches + channel * of.points * tile.columns() + image * of.outputs,
                     tile.columns(), tile.output, tile.output + tile.outputs,
                     sums + image * nextImage + channel * of.inputs);
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      for (int64_t image = 0; image < whole.images; ++image)
        convertRow(sums + image * nextImage, 1, size, inputPlane(whole.image + image, channels));
  }

  void weightGradient(int64_t part, const Channels &channels) const {
    int64_t rows = channels.count * of.points;
    int64_t begin = part * of.tiles() / conv.parts, end = (part + 1) * of.tiles() / conv.parts;
    Sum *sums = scratch + of.offsets.sums; // of w^T
    if (begin == end)
      std::fill_n(sums, rows * conv.output_channels, Sum(0));
    for (int64_t i = begin; i < end; ++i) {
      Tile tile = of.tile(i);
      of.product(channels.count, tile.columns(), i != begin)
          .run(worker, patchesOf(tile, channels), outputsOf(tile, channels.group), sums);
    }
    Sum *result = static_cast<Sum *>(w) +
                  (part * conv.groups + channels.group) * conv.output_channels * filterSize() +
                  channels.first * of.points;
    for (int64_t output = 0; output < conv.output_channels; ++output)
      convertRow(sums + output, conv.output_channels, rows, result + output * filterSize());
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

  const Operand *outputsOf(const Tile &tile, int64_t group) const {
    if constexpr (std::is_same_v<Storage, Operand>)
      if (of.isOutputInPlace)
        return outputPlane(tile.image, group, 0) + tile.output;
    auto *gathered = reinterpret_cast<Operand *>(scratch + of.offsets.outputs);
    for (int64_t channel = 0; channel < conv.output_channels; ++channel)
      for (int64_t image = 0; image < tile.images; ++image)
        convertRow(outputPlane(tile.image + image, group, channel) + tile.output, 1, tile.outputs,
                   gathered + channel * tile.columns() + image * of.outputs);
    return gathered;
  }

  const Operand *filtersOf(const Channels &channels) const {
    auto *filters = static_cast<const Storage *>(w) +
                    channels.group * conv.output_channels * filterSize() +
                    channels.first * of.points;
    if constexpr (std::is_same_v<Storage, Operand>) {
      return filters;
    } else {
      auto *widened = scratch + of.offsets.filters;
      int64_t rows = channels.count * of.points;
      for (int64_t output = 0; output < conv.output_channels; ++output)
        convertRow(filters + output * filterSize(), 1, rows, widened + output * rows);
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

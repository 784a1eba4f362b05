//===- ConvolutionBlock.h - How a convolution is cut --------------------------------*- C++ -*-===//
//
// The cut and the scratch memory that it takes follow from the shape alone: the memory plan and the
// kernels read the same numbers here. Whether this CPU has a product of 16-bit types is not part of
// the shape, so that there is always room for widened operands.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CONVOLUTIONBLOCK_H
#define HALFSTEP_RUNTIME_CONVOLUTIONBLOCK_H

#include "runtime/step_abi.h"

namespace halfstep::runtime {

/// How a convolution is cut. Blocks at the end of a dimension may be smaller.
struct ConvolutionBlock {
  int64_t images;         // side by side
  int64_t outputs;        // of an image; all of them where there are several images
  int64_t channels;       // of the input, of one group
  int64_t outputChannels; // of one group
  int64_t positions;      // of a plane of x, of a unit of the input gradient
};

/// The cut that Convolution.h describes.
ConvolutionBlock chooseConvolutionBlock(const hs_conv &conv);

/// How a channels-last convolution is cut. Blocks at the end of a dimension may be smaller.
struct ChannelsLastBlock {
  int64_t rows;           // of patches, multiplied at once
  int64_t points;         // of the window, multiplied at once
  int64_t channels;       // of the input, of one group; all of them where there are several points
  int64_t images;         // of a unit of the input gradient
  int64_t outputChannels; // of one group
  int64_t positions;      // of an image of x, of a unit of the input gradient
};

/// The cut that ChannelsLastConvolution.h describes.
ChannelsLastBlock chooseChannelsLastBlock(const hs_conv &conv);

/// Where in the scratch memory of a worker what begins, in elements of the sums' type. Patches are
/// at its beginning; what is in place takes none.
struct ConvolutionScratch {
  int64_t outputs, filters, sums, end;
};

ConvolutionScratch layOutScratch(const hs_conv &conv, const ConvolutionBlock &block);
ConvolutionScratch layOutScratch(const hs_conv &conv, const ChannelsLastBlock &block);

/// Whether each output reads one input, and each input is read once.
bool readsEachOnce(const hs_conv &conv);

/// Whether DepthwiseConvolution.h is for it: channels last, one in a group, enough for a vector,
/// and a window whose filters fit scratch memory.
bool isDepthwise(const hs_conv &conv);

/// Channels of a depthwise convolution that a vector holds: 32 bytes of f32 or f64.
int64_t depthwiseLanes(const hs_conv &conv);
/// Vectors of channels that a depthwise convolution computes together.
inline constexpr int64_t depthwiseVectors = 4;

/// How the channels of a depthwise convolution are cut: whole vectors, and a last block with what
/// is left over, which may be nearly twice as large.
struct DepthwiseBlock {
  int64_t channels, count;

  int64_t first(int64_t index) const { return index * channels; }
  int64_t last(int64_t index, int64_t all) const {
    return index == count - 1 ? all : (index + 1) * channels;
  }
};

DepthwiseBlock chooseDepthwiseBlock(const hs_conv &conv);

/// A row of points of the window and the row of x or of y that it meets.
struct DepthwiseRow {
  int64_t firstPoint;
  const void *row;
};

/// The scratch memory of a depthwise convolution: filters, points first, or sums of a weight
/// gradient, in elements of the sums' type; behind them the rows of points that an output reads.
struct DepthwiseScratch {
  int64_t rows, rowCount;
};

DepthwiseScratch layOutScratch(const hs_conv &conv, const DepthwiseBlock &block);

} // namespace halfstep::runtime

#endif

//===- DepthwiseConvolution.h - Convolutions of each channel by itself --------------*- C++ -*-===//
//
// With one channel in a group there is no matrix product: each number of a patch is used once. The
// three kinds are loops over vectors of channels, which lie together, and sums stay in registers:
//
//   forward          an output, over the points of the window
//   input gradient   a position of x, over the outputs that read it
//   weight gradient  a point of the window, over the outputs of a row; partial sums as elsewhere
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_DEPTHWISECONVOLUTION_H
#define HALFSTEP_RUNTIME_DEPTHWISECONVOLUTION_H

#include "runtime/ConvolutionBlock.h"
#include "runtime/Memory.h"
#include "runtime/step_abi.h"

#include <vector>

namespace halfstep::runtime {

/// One channels-last convolution of groups of one channel, of fixed shape, ready to run.
class DepthwiseConvolution {
public:
  /// `conv` is depthwise; `scratch` is read when it runs.
  DepthwiseConvolution(const hs_conv &conv, const WorkerMemory &scratch);

  int64_t units() const;

  /// A range kernel over units. Buffers: a, b, c, the DepthwiseConvolution.
  static void run(void *const *buffers, int64_t lo, int64_t hi);

private:
  template <typename Storage, typename Number> class Runner;

  const hs_conv conv;
  const WorkerMemory &scratch;
  const int64_t points, inputs, outputs; // of the window, of an image of x, of an image of y
  const DepthwiseBlock block;
  const DepthwiseScratch offsets;
  // Of an input gradient, for each spatial dimension, by position of x and point of the window: the
  // output whose point reads that position, or -1.
  std::vector<int64_t> readers[3];
};

} // namespace halfstep::runtime

#endif

//===- ChannelsLastConvolution.h - Convolutions whose channels lie together ---------*- C++ -*-===//
//
// As Convolution.h, for x as [batch, input..., channels]: what a window reads is a row of the
// matrix of patches, [batch * outputs, kernel * channels], a few runs of adjacent numbers each.
//
//   forward          y = patches(x) w^T
//   input gradient   patches(dx) += dy w
//   weight gradient  dw = dy^T patches(x)
//
// The rows of all images lie one behind the other, in y as in the patches, so that a block of rows
// may begin and end anywhere; a block of the depth is some points of the window with all channels,
// or one point with some. Output channels and positions of x are cut as there. Who adds to what is
// shared out as it is there: the input gradient of some images and channels belongs to one unit,
// and weight gradients are partial sums.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CHANNELSLASTCONVOLUTION_H
#define HALFSTEP_RUNTIME_CHANNELSLASTCONVOLUTION_H

#include "runtime/PatchConvolution.h"

#include <memory>
#include <vector>

namespace halfstep::runtime {

/// One channels-last convolution of fixed shape, ready to run.
class ChannelsLastConvolution : PatchConvolution {
public:
  /// `oneDnn` may be null for f64. `scratch` is read when it runs.
  ChannelsLastConvolution(const hs_conv &conv, const WorkerMemory &scratch, OneDnn *oneDnn);

  int64_t units() const;

  /// A range kernel over units. Buffers: a, b, c, the ChannelsLastConvolution.
  static void run(void *const *buffers, int64_t lo, int64_t hi);

private:
  friend PatchConvolution;
  template <typename Storage, typename Operand, typename Sum> class Runner;
  // The sides of a product: `depth` is of patches.
  struct Size {
    int64_t rows, depth, outputChannels;
    bool accumulate;

    bool operator==(const Size &other) const {
      return rows == other.rows && depth == other.depth && outputChannels == other.outputChannels &&
             accumulate == other.accumulate;
    }
  };

  void createProducts();
  hs_gemm gemmOf(Size size) const;
  const BlockProduct &product(Size size) const;
  int64_t rowBlocks() const;
  int64_t depthBlocks() const;
  int64_t filterBlocks() const;
  int64_t positionBlocks() const;

  const ChannelsLastBlock block;
  std::vector<std::pair<Size, std::unique_ptr<BlockProduct>>> products; // a few
};

} // namespace halfstep::runtime

#endif

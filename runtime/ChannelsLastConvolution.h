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
// or one point with some. Who adds to what is shared out as it is there: the input gradient of
// some images and channels belongs to one unit, and weight gradients are partial sums.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CHANNELSLASTCONVOLUTION_H
#define HALFSTEP_RUNTIME_CHANNELSLASTCONVOLUTION_H

#include "runtime/PatchConvolution.h"

#include <memory>
#include <vector>

namespace halfstep::runtime {

/// How a channels-last convolution is cut. Blocks at the end of a dimension may be smaller.
struct ChannelsLastBlock {
  int64_t rows;     // of patches, multiplied at once
  int64_t points;   // of the window, multiplied at once
  int64_t channels; // of the input, of one group; all of them where there are several points
  int64_t images;   // of a unit of the input gradient
};

ChannelsLastBlock chooseChannelsLastBlock(const hs_conv &conv);

/// One channels-last convolution of fixed shape, ready to run.
class ChannelsLastConvolution : PatchConvolution {
public:
  /// `oneDnn` may be null for f64. Reserves scratch for every worker.
  ChannelsLastConvolution(const hs_conv &conv, WorkerMemory &scratch, OneDnn *oneDnn);

  int64_t units() const;

  /// A range kernel over units. Buffers: a, b, c, the ChannelsLastConvolution.
  static void run(void *const *buffers, int64_t lo, int64_t hi);

private:
  friend PatchConvolution;
  template <typename Storage, typename Operand, typename Sum> class Runner;
  // A product's rows and columns or depth: `depth` is of patches.
  struct Size {
    int64_t rows, depth;
    bool accumulate;

    bool operator==(const Size &other) const {
      return rows == other.rows && depth == other.depth && accumulate == other.accumulate;
    }
  };

  void createProducts();
  hs_gemm gemmOf(int64_t rows, int64_t depth) const;
  const BlockProduct &product(Size size) const;
  int64_t rowBlocks() const;
  int64_t depthBlocks() const;

  const ChannelsLastBlock block;
  std::vector<std::pair<Size, std::unique_ptr<BlockProduct>>> products; // a few
};

} // namespace halfstep::runtime

#endif

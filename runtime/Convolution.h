//===- Convolution.h - Convolutions and their adjoints as matrix products -----------*- C++ -*-===//
//
// What the windows at some outputs read is a matrix of patches, [channels * kernel, outputs], and
// all three kinds of convolution are a product with it (Chellapilla, Puri, Simard: High performance
// convolutional neural networks for document processing, 2006):
//
//   forward          y = w patches(x)
//   input gradient   patches(dx) += w^T dy
//   weight gradient  dw = dy patches(x)^T, computed as its transpose, whose operands pack faster
//
// The work is cut into blocks whose patches stay in the cache: of outputs of one image, or of whole
// small images side by side, and of channels. Blocks depend on the shape alone and each runs on one
// thread, in one order, so that the bits do not depend on the number of threads. What two blocks
// would both add to is not shared out: an output's channels follow each other, the input gradient
// of a channel of an image belongs to one block, and weight gradients are partial sums that the
// plan adds up.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CONVOLUTION_H
#define HALFSTEP_RUNTIME_CONVOLUTION_H

#include "runtime/PatchConvolution.h"

#include <array>
#include <memory>

namespace halfstep::runtime {

/// How a convolution is cut. Blocks at the end of a dimension may be smaller.
struct ConvolutionBlock {
  int64_t images;   // side by side
  int64_t outputs;  // of an image; all of them where there are several images
  int64_t channels; // of the input, of one group
};

/// The cut that the header describes.
ConvolutionBlock chooseConvolutionBlock(const hs_conv &conv);

/// One convolution of fixed shape, ready to run.
class Convolution : PatchConvolution {
public:
  /// `oneDnn` may be null for f64. Reserves scratch for every worker.
  Convolution(const hs_conv &conv, WorkerMemory &scratch, OneDnn *oneDnn);

  int64_t units() const;

  /// A range kernel over units. Buffers: a, b, c, the Convolution.
  static void run(void *const *buffers, int64_t lo, int64_t hi);

private:
  friend PatchConvolution;
  template <typename Storage, typename Operand, typename Sum> class Runner;
  struct Tile;

  void decideWhatIsInPlace();
  void createProducts();
  hs_gemm gemmOf(int64_t channels, int64_t columns) const;
  const BlockProduct &product(int64_t channels, int64_t columns, bool accumulate) const;
  Tile tile(int64_t index) const;
  int64_t tiles() const { return imageBlocks * outputBlocks; }

  const ConvolutionBlock block;
  const int64_t imageBlocks, outputBlocks, channelBlocks;
  // By whether the block has fewer channels (4) or columns (2) than others, and does not begin a
  // sum (1).
  std::array<std::unique_ptr<BlockProduct>, 8> products;
};

} // namespace halfstep::runtime

#endif

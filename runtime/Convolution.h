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
// small images side by side, and of channels. Output channels are cut where there are thousands of
// them, and the positions of x where a 16-bit gradient has a million. Blocks depend on the shape
// alone and each runs on one thread, in one order, so that the bits do not depend on the number of
// threads. What two blocks would both add to is not shared out: an output's channels follow each
// other, the input gradient of a channel of an image belongs to one block, and weight gradients are
// partial sums that the plan adds up.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CONVOLUTION_H
#define HALFSTEP_RUNTIME_CONVOLUTION_H

#include "runtime/PatchConvolution.h"

#include <array>
#include <memory>

namespace halfstep::runtime {

/// One convolution of fixed shape, ready to run.
class Convolution : PatchConvolution {
public:
  /// `oneDnn` may be null for f64. `scratch` is read when it runs.
  Convolution(const hs_conv &conv, const WorkerMemory &scratch, OneDnn *oneDnn);

  int64_t units() const;

  /// A range kernel over units. Buffers: a, b, c, the Convolution.
  static void run(void *const *buffers, int64_t lo, int64_t hi);

private:
  friend PatchConvolution;
  template <typename Storage, typename Operand, typename Sum> class Runner;
  struct Tile;

  void decideWhatIsInPlace();
  void createProducts();
  /// The columns of a product, the channels of x that it is of, and those of y.
  struct Size {
    int64_t channels, columns, outputChannels;
  };
  hs_gemm gemmOf(Size size) const;
  size_t productIndex(Size size, bool accumulate) const;
  Tile tile(int64_t index) const;
  int64_t tiles() const { return imageBlocks * outputBlocks; }

  const ConvolutionBlock block;
  const int64_t imageBlocks, outputBlocks, channelBlocks, filterBlocks, positionBlocks;
  std::array<std::unique_ptr<BlockProduct>, 16> products;
};

} // namespace halfstep::runtime

#endif

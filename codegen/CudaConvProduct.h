//===- CudaConvProduct.h - a convolution as a product of matrices ---------------------------===//
//
// All three kinds are a product of a matrix with the matrix of patches, which is never stored: an
// implicit GEMM (Chetlur et al.: cuDNN: Efficient primitives for deep learning, 2014).
//
//                    rows              columns           depth
//   forward          output channels   outputs           points of the window x input channels
//   input gradient   input channels    inputs            points of the window x output channels
//   weight gradient  output channels   points x input    outputs of all images, a share of them
//                                      channels          for each part
//
// Each group has a product of its own. Outputs and inputs are those of all images, numbered
// through.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CUDACONVPRODUCT_H
#define HALFSTEP_CODEGEN_CUDACONVPRODUCT_H

#include "codegen/CudaWindow.h"
#include "passes/CallDetails.h"

namespace halfstep::codegen {

class ConvProduct {
public:
  /// One of the two factors.
  struct Factor {
    int64_t outer; ///< rows of the left one, columns of the right one
    bool isContiguousInDepth;
    std::function<Element(Value outer, Value depth)> locate;
    Value pointer;
  };

  ConvProduct(CudaBuilder &b, const hs_conv &conv, table::ConvOp op);
  ConvProduct(const ConvProduct &) = delete;

  /// Makes rows of columns.
  void transpose();

  /// Begins the kernel: a block computes a tile of that size, of one group and part. How many
  /// blocks there are.
  int64_t begin(llvm::StringRef name, int64_t tileRows, int64_t tileColumns);

  bool isKind(hs_conv_kind kind) const { return conv.kind == uint32_t(kind); }
  Value number(int64_t value) { return b.constant(indexType, value); }
  Element resultAt(Value row, Value column) {
    return isTransposed ? locateResult(column, row) : locateResult(row, column);
  }
  int64_t rows() const { return left.outer; }
  int64_t columns() const { return right.outer; }

  CudaBuilder &b;
  const hs_conv conv;
  const Type storage, sumType, resultType, indexType;
  Factor left, right;
  // Of the block, after `begin`.
  Value result, firstRow, firstColumn, firstDepth, endDepth;

private:
  /// Images as the convolution of one group sees them.
  struct Images {
    Images(int64_t groups, int64_t channels, const int64_t (&sizes)[3], bool channelsLast)
        : channels(channels), sizes(sizes), plane(volumeOf(sizes)),
          strides(groups * channels, sizes, channelsLast) {}

    int64_t channels; // of a group
    const int64_t (&sizes)[3];
    int64_t plane; // pixels of an image
    ImageStrides strides;
  };
  /// A point of the window and a channel, as filters hold them.
  struct Point {
    Value channel;
    Position at;
    Value isThere;
  };
  Point pointAt(Value number, int64_t channels);
  Position positionOf(Value pixel);
  Value imageOf(Value pixel) { return b.divide(pixel, volumeOf(positions)); }
  Element pixelAt(Value pixel, Value channel);
  Element patchAt(Value pixel, Value number);
  Element filterAt(Value row, Value number);
  void setPhases();
  void setProduct();

  const Images x, y;
  // What the window moves over, and the images that are read through it.
  const Images &grid, &source;
  const ImageStrides filters;
  CudaWindow window;
  int64_t phases[3], positions[3], points[3]; // how many; of the grid and the window, of a phase
  bool isTransposed = false;
  int64_t depth;
  std::function<Element(Value row, Value column)> locateResult;
  Value group, part; // of the block
  Position phase;
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CUDACONVPRODUCT_H

//===- CudaPatches.h - the patches of a warp's positions in shared memory -------------------===//
//
// What a convolution of few channels reads at 32 positions: a row of at most 32 numbers of 16 bits
// for each, in the order of the filters'. Two products read it with ldmatrix, that of the output by
// rows, that of the weight gradient transposed. In a row, 16-byte chunks are permuted by the row's
// number: the eight rows that ldmatrix reads at once lie in different banks.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CUDAPATCHES_H
#define HALFSTEP_CODEGEN_CUDAPATCHES_H

#include "codegen/CudaWindow.h"

namespace halfstep::codegen {

class CudaPatches {
public:
  static constexpr int64_t positions = 32; ///< of a warp
  static constexpr int64_t points = 32;    ///< room in a row
  static constexpr int64_t chunk = 8;      ///< numbers that are 16 bytes
  static constexpr int64_t depth = 16;     ///< of a product: rows are filled up to a multiple of it

  /// Takes the shared memory of `warps` warps; the thread is lane `lane` of warp `warp`.
  CudaPatches(CudaBuilder &b, const hs_conv &conv, Type storage, Type indexType, Value x,
              int64_t warps, Value warp, Value lane);

  /// A lane stores the patch of one position, which is in the image; zeros if `isThere` does not
  /// hold. All lanes come here.
  void store(Value image, Value position, Value isThere);

  /// Registers of 16 positions from `firstPosition` on and of the two chunks from `firstChunk` on,
  /// as right factors: with the points as the depth, eight positions behind eight; or with the
  /// positions as the depth, eight points behind eight.
  SmallVector<Value> load(int64_t firstPosition, int64_t firstChunk, bool positionsAreDepth);

private:
  SmallVector<Value> read(Value image, Value position, Value isThere);
  Value address(Value row, Value inRow);
  Value bits(Value x, int64_t shift, int64_t count);
  Value number(int64_t value) { return b.constant(indexType, value); }
  Value word(int64_t value) { return b.constant(b.getI32Type(), value); }

  CudaBuilder &b;
  const hs_conv conv;
  const Type storage, indexType;
  const ImageStrides strides;
  const Value x, lane, zero;
  Value rows; // the warp's
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CUDAPATCHES_H

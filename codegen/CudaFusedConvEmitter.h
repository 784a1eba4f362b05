//===- CudaFusedConvEmitter.h - a convolution with its loss and gradient --------------------===//
//
// The kernel's walk and its products are in EmitCudaFusedConv.cpp, what a block adds up and stores
// in EmitCudaFusedConvSums.cpp.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CUDAFUSEDCONVEMITTER_H
#define HALFSTEP_CODEGEN_CUDAFUSEDCONVEMITTER_H

#include "codegen/CudaPatches.h"
#include "ir/ReductionTree.h"

#include "mlir/IR/TypeUtilities.h"

namespace halfstep::codegen {

/// Of a convolution with the group that is evaluated at its positions; one kernel.
class FusedConvEmitter {
public:
  FusedConvEmitter(CudaBuilder &b, const hs_conv &conv, table::FusedConvOp op,
                   kernel::GroupOp group)
      : b(b), conv(conv), op(op), form(group), reduces(form.reductions(0)),
        storage(mlir::getElementTypeOrSelf(op.getX())), channels(conv.output_channels),
        positions(form.depth), points(volumeOf(this->conv.window.kernel) * conv.input_channels),
        warpChannels(std::min<int64_t>(channels, 64)), tiles(warpChannels / mmaRows),
        width(2 * tiles), depthSteps(llvm::divideCeil(points, mmaDepth)),
        columnTiles(depthSteps * mmaDepth / mmaColumns), teams(warps / (channels / warpChannels)),
        tree(positions), chunkPositions(tree.leaf * kernel::ColumnTree::leaves),
        hasGradient(op.getDw()) {}

  Grid emit(llvm::StringRef name);

private:
  static constexpr int64_t threads = 128, warps = threads / warpLanes;
  static constexpr int64_t warpPositions = CudaPatches::positions, rowPoints = CudaPatches::points;
  static constexpr int64_t mmaRows = 16, mmaColumns = 8, mmaDepth = CudaPatches::depth;
  static constexpr int64_t half = mmaDepth; ///< of the warp's positions
  static constexpr int64_t laneColumns = 4; ///< lanes that have neighbouring columns of a row

  /// What a lane adds up over the positions that it comes to.
  struct Sums {
    SmallVector<Value> gradient; ///< fragments of dw: [tile of columns][tile of rows][4]
    SmallVector<Value> reduced;  ///< for each reduction, a vector of channels
  };

  void begin(llvm::StringRef name);
  void loadFilters();
  void addPositions(Value image, Value first, Value end, Sums &sums);
  SmallVector<Value> multiplyFilters(int64_t firstPosition);
  Value evaluate(Value image, Value position, Value end, Value y, Sums &sums);
  void addToGradient(int64_t firstPosition, llvm::ArrayRef<Value> dy, Sums &sums);
  SmallVector<Value> addChunk(Value unit, SmallVector<Value> gradient);
  void storeReduced(Value image, Value numberOfChunk, llvm::ArrayRef<Value> reduced);
  void storeGradient(llvm::ArrayRef<Value> gradient);

  Value number(int64_t value) { return b.constant(indexType, value); }
  Value word(int64_t value) { return b.constant(b.getI32Type(), value); }
  Value index(Value i32) { return b.toIndex(i32, indexType); }
  Value zeroOf(Type type) { return b.create<mlir::arith::ConstantOp>(b.getZeroAttr(type)); }
  /// A register of two numbers in storage.
  Value pair(Value low, Value high) {
    Value both = b.create<mlir::vector::InsertOp>(high, b.splat(low, 2), 1);
    return b.create<mlir::LLVM::BitcastOp>(b.getI32Type(), both);
  }

  CudaBuilder &b;
  const hs_conv conv;
  table::FusedConvOp op;
  KernelForm form;
  SmallVector<kernel::ReduceOp> reduces;
  const Type storage;
  const int64_t channels, positions, points;
  const int64_t warpChannels, tiles, width; ///< of a warp; their tiles of rows; of a thread
  const int64_t depthSteps, columnTiles;    ///< of the points
  const int64_t teams;                      ///< warps with positions of their own
  const kernel::ColumnTree tree;
  const int64_t chunkPositions;
  const bool hasGradient;
  Type indexType, raw;
  SmallVector<Value> buffers; ///< of the group; null for y and dy
  ValueMap uniform;
  Value w, dw, thread, lane, team, firstChannel, column; ///< the thread's
  std::optional<CudaPatches> patches;                    // the warp's
  SmallVector<SmallVector<Value>> filters;               // [tile][step of the depth]: registers
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CUDAFUSEDCONVEMITTER_H

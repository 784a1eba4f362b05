//===- Shape.h - The language of shape rules ------------------------------===//
//
// The `shape` field of an op entry is an expression over these functions. It serves twice: builders
// infer the result type with it and the verifier compares with it.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_SHAPE_H
#define HALFSTEP_IR_SHAPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace halfstep::train {

inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType());
}

/// How a window moves over the spatial dimensions (all pads in front, then all behind), and where
/// they are: behind the second dimension of every tensor, or in front of it.
struct Sliding {
  llvm::ArrayRef<int64_t> strides, dilations, pads;
  bool channelsLast = false;
};
/// Of an op or its adaptor.
template <typename Op> Sliding slidingOf(Op op) {
  return {op.getStrides(), op.getDilations(), op.getPads(), op.getChannelsLast()};
}

/// Where a part lies in a whole: its element i is the whole's element offsets + i strides.
struct Place {
  llvm::ArrayRef<int64_t> offsets, strides;
};
/// Of an op or its adaptor.
template <typename Op> Place placeOf(Op op) { return {op.getOffsets(), op.getStrides()}; }

/// The sizes of [batch, channels, sizes...] or [batch, sizes..., channels]; none for a lower rank.
llvm::ArrayRef<int64_t> spatialSizes(mlir::RankedTensorType type, bool channelsLast);
/// [batch, sizes..., channels] as [batch, channels, sizes...].
mlir::RankedTensorType channelsFirst(mlir::RankedTensorType type);

class ShapeBuilder {
public:
  using Shape = mlir::FailureOr<llvm::SmallVector<int64_t>>;
  using Tensor = mlir::RankedTensorType;

  ShapeBuilder(std::optional<mlir::Location> location, llvm::StringRef op)
      : location(location), op(op) {}

  Tensor operator()(mlir::Value value) const { return mlir::cast<Tensor>(value.getType()); }

  Shape same(Tensor x);
  /// numpy-style: aligned at the last dimension, sizes equal or 1.
  Shape broadcast(llvm::ArrayRef<Tensor> operands);
  Shape broadcast(Tensor x, llvm::ArrayRef<int64_t> sizes);
  /// `x` with size 1 in each of the ascending `axes`.
  Shape reduce(Tensor x, llvm::ArrayRef<int64_t> axes);
  /// The shape of `x`, of which `axis` is a dimension.
  Shape axis(Tensor x, int64_t axis);
  /// The shape of `x`, to which `parameters` broadcast and of which `axes` are dimensions.
  Shape norm(Tensor x, llvm::ArrayRef<Tensor> parameters, llvm::ArrayRef<int64_t> axes);
  Shape matmul(Tensor a, Tensor b, bool transA, bool transB);
  Shape reshape(Tensor x, llvm::ArrayRef<int64_t> sizes);
  Shape transpose(Tensor x, llvm::ArrayRef<int64_t> permutation);
  /// `sizes`, of a part that lies in `x`.
  Shape slice(Tensor x, const Place &place, llvm::ArrayRef<int64_t> sizes);
  /// `sizes`, of a whole in which `x` lies; `value` is a scalar of its type.
  Shape pad(Tensor x, Tensor value, const Place &place, llvm::ArrayRef<int64_t> sizes);
  /// `sizes`, of a whole in which `x` lies and that `into`, if there, is.
  Shape insert(Tensor x, mlir::Value into, const Place &place, llvm::ArrayRef<int64_t> sizes);
  /// The operands differ in the size of `axis` only.
  Shape concat(mlir::ValueRange operands, int64_t axis);
  Shape iota(llvm::ArrayRef<int64_t> sizes, int64_t dimension);
  /// Rank 0; `x` has one element.
  Shape element(Tensor x);
  /// Rank 0; the operands must have equal shapes.
  Shape scalar(llvm::ArrayRef<Tensor> operands);
  /// Rank 0; integer labels lack `axis` of `x`, float labels have its shape.
  Shape crossEntropy(Tensor x, Tensor label, int64_t axis);

  /// The numbers of places of a window of `kernel` that slides over `sizes`.
  Shape slide(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> kernel,
              const Sliding &sliding);
  /// [batch, output channels, ...] of x, [batch, channels, sizes...], and w, [output channels,
  /// channels of a group, kernel...]; with channels last the second dimension of each is its last.
  Shape convolution(Tensor x, Tensor w, const Sliding &sliding, int64_t groups);
  /// The shape of x or w, of which `sizes` or `kernel` are the spatial sizes, if that makes a
  /// convolution of the shape of dy.
  Shape convolutionInput(Tensor dy, Tensor w, llvm::ArrayRef<int64_t> sizes, const Sliding &sliding,
                         int64_t groups);
  Shape convolutionWeight(Tensor dy, Tensor x, llvm::ArrayRef<int64_t> kernel,
                          const Sliding &sliding, int64_t groups);
  Shape pool(Tensor x, llvm::ArrayRef<int64_t> kernel, const Sliding &sliding);
  /// `countedPads` are part of the pads.
  Shape averagePool(Tensor x, llvm::ArrayRef<int64_t> kernel, const Sliding &sliding,
                    llvm::ArrayRef<int64_t> countedPads);
  /// The shape of x, of which `sizes` are the spatial sizes, if that makes a pooling of the shape
  /// of dy.
  Shape poolInput(Tensor dy, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> kernel,
                  const Sliding &sliding);

  /// The result type, after the check that no two operands have different float types.
  mlir::LogicalResult infer(mlir::ValueRange operands, llvm::function_ref<Shape()> shape,
                            llvm::function_ref<mlir::Type()> elementType,
                            llvm::SmallVectorImpl<mlir::Type> &types);

private:
  mlir::FailureOr<llvm::SmallVector<int64_t>> error(const llvm::Twine &message);

  std::optional<mlir::Location> location;
  llvm::StringRef op;
};

} // namespace halfstep::train

#endif

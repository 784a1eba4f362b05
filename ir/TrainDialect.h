//===- TrainDialect.h - Tensor values of a training step ------------------===//

#ifndef HALFSTEP_IR_TRAINDIALECT_H
#define HALFSTEP_IR_TRAINDIALECT_H

#include "ir/Expr.h"
#include "ir/Shape.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace halfstep::train {

/// Autocast categories (PyTorch's CUDA lists); Unrounded results stay f32 in every mode. PyTorch has
/// batch and instance norms follow their first operand, with f32 parameters beside it: Mixed.
enum class Precision : uint32_t { Low, Full, Widest, Unrounded, Mixed };

/// The category of an op: its entry's, unless it was made as a part of something else, whose
/// category it then carries (`train.category`).
Precision categoryOf(mlir::Operation *op);
void setCategory(mlir::Operation *op, Precision category);

/// Where the backward pass of what stands at `primal` is; what is made there says of itself that it
/// belongs to the backward pass, through every later phase.
mlir::Location gradientLocation(mlir::Location primal);
bool isGradient(mlir::Location location);

/// The reductions that the kernel generator has a fixed tree for.
enum class ReductionKind { Add, Max, Min };

/// On purpose without derivative, as opposed to an op whose rule nobody wrote.
template <typename ConcreteOp>
class NotDifferentiable : public mlir::OpTrait::TraitBase<ConcreteOp, NotDifferentiable> {};

/// Computed by an entry of its own: operands and result lie in memory, row-major.
template <typename ConcreteOp>
class OwnEntry : public mlir::OpTrait::TraitBase<ConcreteOp, OwnEntry> {};

using ScalarGradient = llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<Expr> operands,
                                                                  Expr y, Expr dy)>;
/// The adjoints of an elementwise op's operands, each as one `train.map` of the scalar formula.
llvm::SmallVector<Expr> elementwiseGradient(ExprBuilder &e, mlir::Operation *op, Expr dy,
                                            ScalarGradient formulas);

/// Builds a `train.map` over `operands`, whose formulas work on scalars of the compute types; one
/// result of shape `sizes` and type `elementTypes[i]` per formula. Operands that no formula uses
/// are dropped; formulas that merely return an operand stay part of the map.
llvm::SmallVector<Expr>
buildMap(mlir::ImplicitLocOpBuilder &builder, mlir::ValueRange operands, Precision category,
         llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<mlir::Type> elementTypes,
         llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<Expr>)> formulas);

/// The adjoint of an extremum over `axes`: shared evenly by all elements equal to it.
Expr extremumGradient(Expr x, Expr y, Expr dy, llvm::ArrayRef<int64_t> axes);

/// The adjoint of the scalar that `pad` surrounds `x` with: the sum of `dy` outside of x's place.
Expr paddingGradient(Expr x, Expr dy, const Place &place);

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// Streams below are numbered by what a model draws, from here on by the weights' regions.
inline constexpr uint32_t kRoundingStreams = uint32_t(1) << 31;

/// When a number is drawn: scalars of the step.
struct RandomTime {
  Expr micro, iteration; // f64, whole
  Expr seed;             // i64
};
/// The bits of `stream` for a tensor of shape `sizes`, whose elements are counted row-major.
Expr drawBits(const RandomTime &time, uint32_t stream, llvm::ArrayRef<int64_t> sizes);

// Scalar formulas; `bits` are i32.
Expr philox(Expr element, Expr micro, Expr iteration, uint32_t stream, Expr seed);
Expr isDropped(Expr bits, double ratio);
Expr dropout(Expr x, Expr bits, double ratio);
/// f32 in, f32 that is a number of the 16-bit type `to` out.
Expr roundStochastically(Expr x, Expr bits, mlir::Type to);

/// Argument and result attributes that give a function's values their meaning.
namespace attr {
inline constexpr llvm::StringLiteral kInput = "train.input";         // graph input NAME
inline constexpr llvm::StringLiteral kLabel = "train.label";         // unit: the label
inline constexpr llvm::StringLiteral kClassCount = "train.class_count";     // ids are below this
inline constexpr llvm::StringLiteral kIgnoredClass = "train.ignored_class"; // or equal this
inline constexpr llvm::StringLiteral kParameter = "train.parameter"; // weight NAME
inline constexpr llvm::StringLiteral kCopy = "train.copy";           // 16-bit copy of weight NAME
inline constexpr llvm::StringLiteral kTrainable = "train.trainable"; // unit: the optimizer's
inline constexpr llvm::StringLiteral kState = "train.state";         // state tensor NAME
inline constexpr llvm::StringLiteral kRegion = "train.region";       // flat region NAME, whole
inline constexpr llvm::StringLiteral kRecord = "train.record";       // metrics ring NAME
inline constexpr llvm::StringLiteral kUpdatesRecord = "train.updates_record"; // its new value
inline constexpr llvm::StringLiteral kSeed = "train.seed";           // unit: the loss's adjoint
inline constexpr llvm::StringLiteral kOutput = "train.output";       // graph output NAME
inline constexpr llvm::StringLiteral kFileType = "train.file_type";  // of an output, if wider
inline constexpr llvm::StringLiteral kMetric = "train.metric";       // scalar NAME of evaluate
inline constexpr llvm::StringLiteral kGradient = "train.gradient";   // adjoint of weight NAME
inline constexpr llvm::StringLiteral kUpdates = "train.updates";     // new value of state NAME
inline constexpr llvm::StringLiteral kUpdatesRegion = "train.updates_region"; // likewise, a region
inline constexpr llvm::StringLiteral kCategory = "train.category";       // of an op, see categoryOf
inline constexpr llvm::StringLiteral kReason = "train.reason";           // why an op has its types
} // namespace attr

} // namespace halfstep::train

#include "ir/TrainEnums.h.inc"
#include "ir/TrainDialect.h.inc"
#include "ir/TrainInterfaces.h.inc"
#define GET_OP_CLASSES
#include "ir/TrainOps.h.inc"

namespace halfstep::train {
/// What a loss divides its sum by: elements of `x` for a mean, 1 for a sum.
inline double lossCount(Expr x, LossReduction reduction) {
  return reduction == LossReduction::Sum
             ? 1.0
             : double(mlir::ShapedType::getNumElements(x.sizes()));
}
} // namespace halfstep::train

#endif

//===- AssignPrecision.cpp - The types of the precision mode --------------===//
//
// Every op computes in the type that its category, the mode and the pins ask for; operands of other
// types are cast. Because backward ops are ordinary ops with categories, nothing here knows of
// autodiff, except that an adjoint has the type of its primal: that makes gradient-then-precision
// equal to casts-first, as PyTorch's autocast does it.
//
//   mode       weights      Low    Full   Widest            gradient of a weight
//   fp32       f32          f32    f32    f32               f32
//   autocast   f32          16     f32    widest operand    f32
//   half-grad  f32 + copy   16     f32    widest operand    16 if the weight is low, else f32
//   half       16           16     f32*   widest operand    16       (* rounded to 16 at the end)
//   as-is      the file's, unchanged
//
// A Mixed op computes as a Full one and rounds its result to the type of its first operand. A weight
// is *full* if all its uses are Full or Mixed ops, otherwise *low*. Losses and metrics are f32 in
// every mode, and so is the adjoint that reaches the network's output. Each op gets the reason of
// its type: category, pinned, widened (a Widest op with an f32 operand) or policy.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "passes/Access.h"
#include "passes/ParameterClass.h"
#include "passes/Passes.h"
#include "passes/Pins.h"

namespace halfstep {
#define GEN_PASS_DEF_ASSIGNPRECISIONPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
bool isNarrow(Type element) { return element.isF16() || element.isBF16(); }

struct AssignPrecision : halfstep::impl::AssignPrecisionPassBase<AssignPrecision> {
  using Base::Base;

  bool autocasts() const { return mode == "autocast" || mode == "half-grad" || mode == "half"; }

  //===--------------------------------------------------------------------===//
  // Options
  //===--------------------------------------------------------------------===//

  InFlightDiagnostic error(const Twine &what) { return emitError(getOperation().getLoc()) << what; }

  LogicalResult readOptions() {
    MLIRContext *context = &getContext();
    f32 = Float32Type::get(context);
    if (mode != "fp32" && !autocasts()) {
      error("unknown precision '" + mode + "'");
      return failure();
    }
    if (halfType != "fp16" && halfType != "bf16") {
      error("--half-type must be fp16 or bf16, not '" + halfType + "'");
      return failure();
    }
    half = halfType == "fp16" ? Type(Float16Type::get(context)) : Type(BFloat16Type::get(context));
    auto parsed = Pins::parse(SmallVector<std::string>(pin.begin(), pin.end()), context,
                              [&](const Twine &what) { return error(what); });
    if (succeeded(parsed))
      pins = std::move(*parsed);
    return parsed;
  }

  //===--------------------------------------------------------------------===//
  // Types
  //===--------------------------------------------------------------------===//

  /// What an op computes in, and why; null for ops without float operands.
  std::pair<Type, StringRef> wish(Operation *op) {
    Type widest;
    for (Value operand : op->getOperands()) {
      Type element = getElementTypeOrSelf(operand.getType());
      if (!isa<FloatType>(element) || isUniformConstant(operand))
        continue;
      if (!widest || !isNarrow(element))
        widest = element;
    }
    if (!widest) // only numbers that are known: they take the type of their reader
      return {};
    Precision category = categoryOf(op);
    Type pin = pins.typeOf(op);
    if (category == Precision::Unrounded) // losses and metrics, whatever a pin says
      return {f32, "category"};
    if (pin)
      return {pin, "pinned"};
    if (mode == "fp32")
      return {f32, "policy"};
    switch (category) {
    case Precision::Low:
      return {half, "category"};
    case Precision::Full:
    case Precision::Mixed:
    case Precision::Unrounded:
      return {f32, "category"};
    case Precision::Widest:
      // Two 16-bit types meet in f32, which holds both; so do a 16-bit type and a number beyond it.
      for (Value operand : op->getOperands()) {
        Type element = getElementTypeOrSelf(operand.getType());
        if (isUniformConstant(operand) ? isNarrow(widest) && isBeyond(operand, widest)
                                       : isNarrow(element) && element != widest)
          return {f32, "widened"};
      }
      return {widest, isNarrow(widest) ? "policy" : "widened"};
    }
    llvm_unreachable("category");
  }

  /// Whether a constant becomes zero or infinite in `type`: an eps of 1e-8, a mask of -1e9.
  static bool isBeyond(Value constant, Type type) {
    SplatElementsAttr splat;
    if (!matchPattern(resolve(constant).root, m_Constant(&splat)) ||
        !isa<FloatType>(splat.getElementType()))
      return false;
    APFloat value = splat.getSplatValue<APFloat>(), narrow = value;
    bool losesInfo;
    narrow.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return narrow.isZero() != value.isZero() || narrow.isInfinity() != value.isInfinity();
  }

  Value castTo(OpBuilder &builder, Location location, Value value, Type element) {
    ImplicitLocOpBuilder b(location, builder);
    return convert(Expr{value, &b}, element).value;
  }

  /// The 16-bit type that what `op` computes in f32 is rounded to, or null.
  Type narrowResult(Operation *op) {
    if (categoryOf(op) == Precision::Mixed) {
      Type first = getElementTypeOrSelf(op->getOperand(0).getType());
      return isNarrow(first) ? first : Type();
    }
    return mode == "half" && categoryOf(op) == Precision::Full ? half : Type();
  }

  void assign(Operation *op) {
    if (isa<CastOp, func::ReturnOp>(op) || !isa<PrecisionOpInterface>(op))
      return;
    auto [type, reason] = wish(op);
    if (!type)
      return;
    Type narrow = narrowResult(op);
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<FloatType>(getElementTypeOrSelf(operand.get().getType())))
        operand.set(castTo(builder, op->getLoc(), operand.get(), type));
    for (Value result : op->getResults())
      if (auto tensor = cast<RankedTensorType>(result.getType());
          isa<FloatType>(tensor.getElementType()))
        result.setType(tensor.clone(type));
    op->setAttr(attr::kReason, builder.getStringAttr(reason));
    if (narrow && reason == "category")
      for (Value result : op->getResults()) {
        builder.setInsertionPointAfter(op);
        Value rounded = castTo(builder, op->getLoc(), result, narrow);
        result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
      }
  }

  /// The types in which a program gets its inputs and weights.
  void assignArguments(func::FuncOp function) {
    OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
    for (BlockArgument argument : function.getArguments()) {
      auto tensor = cast<RankedTensorType>(argument.getType());
      unsigned index = argument.getArgNumber();
      auto parameter = function.getArgAttrOfType<StringAttr>(index, attr::kParameter);
      if (!isa<FloatType>(tensor.getElementType()))
        continue;
      // Only a step has an @init and an @update, which write the copies.
      bool trained =
          function.getArgAttr(index, attr::kTrainable) && getOperation().lookupSymbol("micro");
      if (parameter && mode == "half") {
        argument.setType(tensor.clone(half));
      } else if (parameter && mode == "half-grad" && trained && lowParameters.contains(parameter)) {
        argument.setType(tensor.clone(half));
        function.removeArgAttr(index, attr::kParameter);
        function.setArgAttr(index, attr::kCopy, parameter);
      } else if (parameter) {
        argument.setType(tensor.clone(f32));
      } else if (function.getArgAttr(index, attr::kInput) && mode == "half" &&
                 tensor.getElementType() != half) {
        Value narrow = castTo(builder, argument.getLoc(), argument, half);
        argument.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
      }
    }
  }

  /// Adjoints have the type of their primal. Under autocast a weight, or a view of one, is read in
  /// 16 bits through one cast, whose adjoint is 16 bits wide and is widened: what half-grad leaves
  /// out is the widening.
  void assignAdjoint(AdjointOp adjoint) {
    auto primal = cast<RankedTensorType>(adjoint.getPrimal().getType());
    Attribute policy = StringAttr::get(&getContext(), "policy");
    adjoint.getResult().setType(primal);
    adjoint->setAttr(attr::kReason, policy);
    if (mode != "autocast" || !isOfParameter(adjoint.getPrimal()))
      return;
    SmallVector<Value> ofCast, others;
    for (Value contribution : adjoint.getContributions())
      (isNarrow(getElementTypeOrSelf(contribution)) ? ofCast : others).push_back(contribution);
    if (ofCast.empty())
      return;
    OpBuilder builder(adjoint);
    auto narrow = builder.create<AdjointOp>(adjoint.getLoc(), primal.clone(half), ofCast,
                                            adjoint.getPrimal());
    narrow->setAttr(attr::kReason, policy);
    others.push_back(castTo(builder, adjoint.getLoc(), narrow, primal.getElementType()));
    adjoint.getContributionsMutable().assign(others);
  }

  static bool isOfParameter(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isMovement(op))
        return false;
      value = op->getOperand(0);
    }
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && cast<func::FuncOp>(argument.getOwner()->getParentOp())
                           .getArgAttr(argument.getArgNumber(), attr::kParameter);
  }

  void assignFunction(func::FuncOp function) {
    auto declared = llvm::to_vector(function.getResultTypes());
    assignArguments(function);
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      if (auto adjoint = dyn_cast<AdjointOp>(op))
        assignAdjoint(adjoint);
      else
        assign(&op);
    }
    // The outside sees the outputs, losses and metrics that the file declares; gradients are ours.
    // Of an output in 16 bits the host gets these, and widens them while it writes: twice the
    // memory would hold nothing more.
    Operation *terminator = function.front().getTerminator();
    OpBuilder builder(terminator);
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      Type element = getElementTypeOrSelf(declared[index]);
      if (function.getResultAttr(index, attr::kOutput) && element.isF32() &&
          isNarrow(getElementTypeOrSelf(operand.get().getType())))
        function.setResultAttr(index, attr::kFileType, TypeAttr::get(element));
      else if (!function.getResultAttr(index, attr::kGradient) && isa<FloatType>(element))
        operand.set(castTo(builder, operand.get().getLoc(), operand.get(), element));
    }
    function.setFunctionType(builder.getFunctionType(function.front().getArgumentTypes(),
                                                     terminator->getOperandTypes()));
  }

  LogicalResult refuseF64() {
    WalkResult result = getOperation().walk([](Operation *op) {
      for (Type type : op->getResultTypes())
        if (getElementTypeOrSelf(type).isF64()) {
          auto diagnostic = emitError(op->getLoc())
                            << "computes in f64, which only --precision as-is does";
          diagnostic.attachNote() << "help: --precision as-is keeps the types of the file";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    if (mode == "as-is")
      return;
    if (failed(readOptions()) || failed(refuseF64()))
      return signalPassFailure();
    lowParameters = findLowParameters(getOperation(), pins);
    if (mode == "half" && getOperation().lookupSymbol("micro"))
      emitRemark(getOperation().getLoc())
          << "16-bit weights lose updates below 2^-" << (half.isF16() ? 12 : 9)
          << " of themselves; --precision half-grad keeps f32 masters";
    for (auto function : getOperation().getOps<func::FuncOp>())
      assignFunction(function);
    for (const std::string &text : pins.unused()) {
      auto diagnostic = error("--pin " + text + " matches no node and no op");
      diagnostic.attachNote() << "help: inspect --phase precision lists the nodes";
      return signalPassFailure();
    }
  }

  Type f32, half;
  Pins pins;
  DenseSet<StringAttr> lowParameters;
};
} // namespace

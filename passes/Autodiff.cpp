//===- Autodiff.cpp - The backward pass -----------------------------------===//
//
// Reverse-mode differentiation of @micro as one joint function: forward and backward see each
// other's values, so nothing needs to be cached or recomputed by rule (compare Enzyme's caches).
//
// Two sweeps. Forward: a value is *active* if a trained parameter reaches it through
// differentiable ops. Backward: the contributions to each active value are gathered in reverse
// program order; when its op is reached they are complete and become one `train.adjoint`, which the
// op's rule turns into contributions to its operands. Rules never ask which operands are active:
// what they build for inactive ones is dead and removed.
//
// Backward ops carry their primal's location, marked "gradient".
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace halfstep {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
struct Autodiff : halfstep::impl::AutodiffPassBase<Autodiff> {
  using Base::Base;

  func::FuncOp function;
  DenseSet<Value> active;
  DenseMap<Value, SmallVector<Value>> contributions;

  /// Marks active values. An op that is on the way from a parameter to the loss and has no rule is
  /// a blocker; all of them are reported at once.
  LogicalResult markActive() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, attr::kTrainable))
        active.insert(function.getArgument(i));
    std::optional<InFlightDiagnostic> blocked;
    for (Operation &op : function.front().without_terminator()) {
      if (op.hasTrait<NotDifferentiable>() || llvm::none_of(op.getOperands(), [&](Value operand) {
            return active.contains(operand);
          }))
        continue;
      if (!isa<GradientOpInterface>(op)) {
        if (!blocked)
          blocked.emplace(emitError(op.getLoc()) << "has no gradient rule");
        blocked->attachNote(op.getLoc()) << "'" << op.getName() << "' has no gradient rule";
        continue;
      }
      for (Value result : op.getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
          active.insert(result);
    }
    if (!blocked)
      return success();
    blocked->attachNote() << "help: freeze the parameters in front of it (--freeze), or replace it";
    return *std::move(blocked);
  }

  /// The adjoint of `primal`, complete, or null if nothing that reaches the loss uses it.
  Value adjoint(OpBuilder &builder, Value primal) {
    auto found = contributions.find(primal);
    if (found == contributions.end())
      return {};
    return builder.create<AdjointOp>(gradientLocation(primal.getLoc()), primal.getType(),
                                     found->second, primal);
  }

  void differentiate(Value loss, Value seed) {
    Operation *terminator = function.front().getTerminator();
    OpBuilder builder(terminator);
    contributions[loss].push_back(seed);
    SmallVector<Operation *> ops;
    for (Operation &op : function.front().without_terminator())
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops)) {
      if (op->getNumResults() != 1 || !active.contains(op->getResult(0)))
        continue;
      Value dy = adjoint(builder, op->getResult(0));
      if (!dy)
        continue;
      ImplicitLocOpBuilder b(gradientLocation(op->getLoc()), builder);
      ExprBuilder e{b};
      Operation *before = terminator->getPrevNode();
      auto adjoints = cast<GradientOpInterface>(op).gradient(e, e(dy));
      // The rule of a delicate op is as delicate; its parts must not round on their own.
      if (Precision category = categoryOf(op);
          category == Precision::Unrounded || category == Precision::Mixed ||
          (category == Precision::Full && !isa<ScalarOpInterface>(op)))
        for (Operation *part = before->getNextNode(); part != terminator;
             part = part->getNextNode())
          if (isa<PrecisionOpInterface>(part))
            setCategory(part, Precision::Unrounded);
      for (auto [operand, contribution] : llvm::zip_equal(op->getOperands(), adjoints))
        if (contribution && active.contains(operand))
          contributions[operand].push_back(contribution.value);
    }
  }

  void runOnOperation() override {
    function = getOperation().lookupSymbol<func::FuncOp>("micro");
    active.clear();
    contributions.clear();
    if (!function || failed(markActive()))
      return signalPassFailure();
    Operation *terminator = function.front().getTerminator();
    Value loss = terminator->getOperand(0);
    if (!active.contains(loss)) {
      auto diagnostic = emitError(function.getLoc()) << "no trained parameter reaches the loss";
      diagnostic.attachNote() << "help: check --train and --freeze, or the output that is trained";
      return signalPassFailure();
    }
    Builder attributes(&getContext());
    unsigned index = function.getNumArguments();
    function.insertArgument(index, loss.getType(),
                            attributes.getDictionaryAttr(attributes.getNamedAttr(
                                attr::kSeed, attributes.getUnitAttr())),
                            function.getLoc());
    differentiate(loss, function.getArgument(index));

    SmallVector<Value> results(terminator->getOperands());
    SmallVector<Attribute> resultAttributes(function.getResAttrsAttr().getValue());
    OpBuilder builder(terminator);
    for (unsigned i = 0; i < index; ++i) {
      if (!function.getArgAttr(i, attr::kTrainable))
        continue;
      auto name = function.getArgAttrOfType<StringAttr>(i, attr::kParameter);
      Value gradient = adjoint(builder, function.getArgument(i));
      if (!gradient) { // as in PyTorch, a parameter without gradient is left alone
        emitWarning(function.getLoc()) << "parameter " << name << " does not reach the loss and "
                                       << "is not trained";
        stopTraining(name);
        continue;
      }
      results.push_back(gradient);
      resultAttributes.push_back(
          builder.getDictionaryAttr(builder.getNamedAttr(attr::kGradient, name)));
    }
    terminator->setOperands(results);
    function.setFunctionType(
        builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    function.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
    eraseDead();
  }

  /// Parameter `name` is no longer trained, in any function.
  void stopTraining(StringAttr name) {
    for (auto other : getOperation().getOps<func::FuncOp>())
      for (unsigned i = 0; i < other.getNumArguments(); ++i)
        if (other.getArgAttrOfType<StringAttr>(i, attr::kParameter) == name)
          other.removeArgAttr(i, attr::kTrainable);
  }

  void eraseDead() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};
} // namespace

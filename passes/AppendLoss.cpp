//===- AppendLoss.cpp - The loss behind the forward function --------------===//
//
// Two copies of @forward: @micro is what autodiff differentiates, @evaluate what validation runs.
// They are separate functions from here on because they come to differ in more than their results
// (dropout, batch statistics), and because each is then free of what only the other needs.
//
//===----------------------------------------------------------------------===//

#include "passes/Losses.h"
#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_APPENDLOSSPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
struct AppendLoss : halfstep::impl::AppendLossPassBase<AppendLoss> {
  using Base::Base;

  /// A copy of `forward` named `name`, with the loss in place of its outputs.
  static void build(func::FuncOp forward, StringRef name, unsigned output, const BoundLoss &bound,
                    bool withMetrics) {
    OpBuilder builder(forward->getContext());
    builder.setInsertionPointAfter(forward);
    auto function = cast<func::FuncOp>(builder.clone(*forward));
    function.setSymName(name);
    Location location = forward.getLoc();

    Expr label;
    if (bound.label) {
      unsigned index = 0; // behind the graph inputs
      while (index < function.getNumArguments() && function.getArgAttr(index, attr::kInput))
        ++index;
      NamedAttrList attributes;
      attributes.set(attr::kLabel, builder.getUnitAttr());
      if (bound.label->classCount)
        attributes.set(attr::kClassCount, builder.getI64IntegerAttr(*bound.label->classCount));
      if (bound.label->ignoredClass)
        attributes.set(attr::kIgnoredClass, builder.getI64IntegerAttr(*bound.label->ignoredClass));
      function.insertArgument(index, bound.label->type,
                              attributes.getDictionary(builder.getContext()), location);
      label.value = function.getArgument(index);
    }

    Operation *terminator = function.front().getTerminator();
    ImplicitLocOpBuilder b(NameLoc::get(builder.getStringAttr("loss")), terminator);
    label.builder = &b;
    Expr y{terminator->getOperand(output), &b};
    Expr loss = bound.loss(y, label);
    SmallVector<Value> results{loss.value};
    SmallVector<Attribute> names{metricName(b, "loss")};
    if (withMetrics)
      for (auto &[metric, value] : bound.metrics(y, label)) {
        results.push_back(value.value);
        names.push_back(metricName(b, metric));
      }
    terminator->setOperands(results);
    function.setFunctionType(
        b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    function.setResAttrsAttr(b.getArrayAttr(names));
  }

  static DictionaryAttr metricName(Builder &b, StringRef name) {
    return b.getDictionaryAttr(b.getNamedAttr(attr::kMetric, b.getStringAttr(name)));
  }

  /// The output that is trained: the model's only one, or the first.
  std::optional<unsigned> selectOutput(func::FuncOp forward) {
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      if (isa<FloatType>(getElementTypeOrSelf(forward.getResultTypes()[i]))) {
        if (forward.getNumResults() > 1)
          emitWarning(forward.getLoc())
              << "the model has " << forward.getNumResults() << " outputs; the loss is of "
              << forward.getResultAttrOfType<StringAttr>(i, attr::kOutput);
        return i;
      }
    emitError(forward.getLoc()) << "the model has no float output to train";
    return std::nullopt;
  }

  /// Fails unless each sample has a label of its own.
  static LogicalResult checkLabel(func::FuncOp forward, unsigned output, RankedTensorType label) {
    for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
      auto input = cast<RankedTensorType>(forward.getArgumentTypes()[i]);
      if (!forward.getArgAttr(i, attr::kInput) || input.getRank() == 0)
        continue;
      int64_t batch = input.getDimSize(0);
      if (label.getRank() && label.getDimSize(0) == batch)
        return success();
      Value y = forward.front().getTerminator()->getOperand(output);
      auto diagnostic = emitError(y.getLoc())
                        << "makes the model's output " << y.getType() << ", and so the label "
                        << label << ": its leading dimension is not the batch, " << batch
                        << ", so that samples have no labels of their own";
      diagnostic.attachNote() << "help: keep the batch as the first dimension of the output; an op "
                                 "along that dimension (a Concat, a Reshape) changes it";
      return diagnostic;
    }
    return success();
  }

  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward) {
      emitError(getOperation().getLoc()) << "append-loss needs a function @forward";
      return signalPassFailure();
    }
    auto output = selectOutput(forward);
    if (!output)
      return signalPassFailure();
    auto spec = Spec::parse(loss);
    auto bound = spec ? bindLoss(*spec, cast<RankedTensorType>(forward.getResultTypes()[*output]))
                      : llvm::Expected<BoundLoss>(spec.takeError());
    if (!bound) {
      emitError(getOperation().getLoc()) << "--loss: " << llvm::toString(bound.takeError());
      return signalPassFailure();
    }
    if (bound->label && failed(checkLabel(forward, *output, bound->label->type)))
      return signalPassFailure();
    if (bound->label)
      for (unsigned i = 0; i < forward.getNumArguments(); ++i)
        if (auto name = forward.getArgAttrOfType<StringAttr>(i, attr::kInput);
            name && name == "label") {
          auto diagnostic = emitError(forward.getLoc())
                            << "has an input called label, which is the name of the loss's label";
          diagnostic.attachNote() << "help: export the model with another name for this input";
          return signalPassFailure();
        }
    build(forward, "evaluate", *output, *bound, /*withMetrics=*/true);
    build(forward, "micro", *output, *bound, /*withMetrics=*/false);
  }
};
} // namespace

//===- BuildStep.cpp - The entry functions of the training step -----------===//
//
// What was a differentiated function becomes a step: flat regions for what the optimizer walks
// (FlatLayout), an @update that reads gradients and writes parameters (BuildUpdate), and a directory
// of everything with a name (BuildDirectory). A module without @micro is not trained: it keeps its
// forward function alone.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/Step.h"

namespace halfstep {
#define GEN_PASS_DEF_BUILDSTEPPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
struct BuildStep : halfstep::impl::BuildStepPassBase<BuildStep> {
  using Base::Base;

  /// Reads an option's spec and binds it; null after an error.
  template <typename Bound>
  std::optional<Bound> read(StringRef option, StringRef text,
                            llvm::Expected<Bound> (*bind)(const Spec &)) {
    auto spec = Spec::parse(text);
    auto bound = spec ? bind(*spec) : llvm::Expected<Bound>(spec.takeError());
    if (bound)
      return std::move(*bound);
    emitError(getOperation().getLoc()) << "--" << option << ": "
                                       << llvm::toString(bound.takeError());
    return std::nullopt;
  }

  LogicalResult bindOptions(Step &step) {
    auto boundOptimizer = read("optimizer", optimizer, bindOptimizer);
    auto boundSchedule = read("schedule", schedule, bindSchedule);
    auto boundScale = bindLossScale(lossScale);
    if (!boundScale)
      emitError(getOperation().getLoc())
          << "--loss-scale: " << llvm::toString(boundScale.takeError());
    if (!boundOptimizer || !boundSchedule || !boundScale)
      return failure();
    if (accumulate < 1)
      return emitError(getOperation().getLoc()) << "--accumulate must be at least 1";
    if (rounding != "nearest" && rounding != "stochastic")
      return emitError(getOperation().getLoc())
             << "--rounding must be nearest or stochastic, not '" << rounding << "'";
    step.optimizer = std::move(*boundOptimizer);
    step.schedule = std::move(*boundSchedule);
    step.lossScale = std::move(*boundScale);
    step.clipNorm = clipNorm;
    step.accumulate = accumulate;
    return success();
  }

  DictionaryAttr named(StringRef attribute, StringRef name) {
    Builder b(&getContext());
    return b.getDictionaryAttr(b.getNamedAttr(attribute, b.getStringAttr(name)));
  }

  static Expr addArgument(func::FuncOp function, ImplicitLocOpBuilder &b, Type type,
                          DictionaryAttr attributes) {
    function.insertArgument(function.getNumArguments(), type, attributes, b.getLoc());
    return {function.getArguments().back(), &b};
  }

  /// @micro keeps its loss for the records; its seed becomes scale / accumulate; with several
  /// micro-batches it adds to the gradients and the loss that are there.
  void completeMicro(func::FuncOp micro, const Step &step) {
    Operation *terminator = micro.front().getTerminator();
    Location forward = NameLoc::get(StringAttr::get(&getContext(), "accumulate"));
    ImplicitLocOpBuilder b(forward, terminator);
    bool several = accumulate > 1;
    for (unsigned i = 0; i < micro.getNumResults(); ++i) {
      Expr value{terminator->getOperand(i), &b};
      auto parameter = micro.getResultAttrOfType<StringAttr>(i, attr::kGradient);
      b.setLoc(parameter ? gradientLocation(forward) : forward);
      DictionaryAttr old = parameter ? named(attr::kGradient, parameter)
                                     : named(attr::kState, "running_loss");
      if (!parameter) {
        value = convert(value, b.getF64Type());
        if (several)
          value = value / double(accumulate);
      }
      if (several) {
        if (parameter)
          value = convert(value, accumulatorType(step, parameter));
        value = addArgument(micro, b, value.value.getType(), old) + value;
      }
      terminator->setOperand(i, value.value);
      micro.setResultAttrs(i, parameter ? old : named(attr::kUpdates, "running_loss"));
    }

    b.setInsertionPointToStart(&micro.front());
    b.setLoc(gradientLocation(forward));
    for (unsigned i = micro.getNumArguments(); i-- > 0;)
      if (micro.getArgAttr(i, attr::kSeed)) {
        Expr seed{micro.getArgument(i), &b}, value = constant(seed, 1.0 / double(accumulate));
        if (step.lossScale.scales) {
          Expr scale = addArgument(micro, b, RankedTensorType::get({}, b.getF64Type()),
                                   named(attr::kState, "scale"));
          value = convert(scale, seed.elementType()) * value;
        }
        seed.value.replaceAllUsesWith(value.value);
        micro.eraseArgument(i);
      }
    micro.setFunctionType(b.getFunctionType(micro.getArgumentTypes(), terminator->getOperandTypes()));
  }

  /// What @micro draws follows from the seed, the step and the micro-batch, which it counts.
  void drawRandomNumbers(func::FuncOp micro) {
    ImplicitLocOpBuilder b(NameLoc::get(StringAttr::get(&getContext(), "random")),
                           OpBuilder::atBlockBegin(&micro.front()));
    Type count = RankedTensorType::get({}, b.getF64Type());
    RandomTime time;
    time.seed = addArgument(micro, b, RankedTensorType::get({}, b.getI64Type()),
                            named(attr::kState, "seed"));
    time.iteration = addArgument(micro, b, count, named(attr::kState, "iteration"));
    time.micro = accumulate > 1 ? addArgument(micro, b, count, named(attr::kState, "micro"))
                                : constant(time.iteration, 0.0);
    for (auto op : llvm::make_early_inc_range(micro.front().getOps<RandomBitsOp>())) {
      b.setInsertionPoint(op);
      b.setLoc(op.getLoc());
      op.replaceAllUsesWith(drawBits(time, op.getStream(), op.getSizes()).value);
      op.erase();
    }
    if (accumulate == 1)
      return micro.setFunctionType(
          b.getFunctionType(micro.getArgumentTypes(), micro.getResultTypes()));
    Operation *terminator = micro.front().getTerminator();
    b.setInsertionPoint(terminator);
    terminator->insertOperands(terminator->getNumOperands(), (time.micro + 1.0).value);
    micro.insertResult(micro.getNumResults(), count, named(attr::kUpdates, "micro"));
  }

  static Type accumulatorType(const Step &step, StringRef parameter) {
    for (const FlatLayout &layout : step.layouts)
      for (const FlatLayout::Entry &entry : layout.entries)
        if (entry.name == parameter)
          return layout.accumulatorType;
    llvm_unreachable("a gradient of a parameter that is not trained");
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward)
      return signalPassFailure();
    module->setAttr(table::attr::kMicroBatches,
                    IntegerAttr::get(IntegerType::get(&getContext(), 64), accumulate));
    forward.setSymName("infer");
    Step step;
    if (!micro) {
      for (unsigned i = 0; i < forward.getNumArguments(); ++i)
        forward.removeArgAttr(i, attr::kTrainable);
      return buildDirectory(module, forward, step);
    }
    if (failed(bindOptions(step)))
      return signalPassFailure();
    step.layouts =
        layOutParameters(micro, /*widenSums=*/accumulate > 1 && accumulateType != "half");
    step.roundsStochastically = rounding == "stochastic";
    if (step.roundsStochastically &&
        llvm::none_of(step.layouts, [](const FlatLayout &layout) { return layout.isNarrow(); })) {
      auto diagnostic = emitError(module.getLoc())
                        << "--rounding stochastic: no trained weight is stored in 16 bits";
      diagnostic.attachNote() << "help: it is for --precision half; 16-bit copies of f32 masters "
                                 "are always rounded to nearest";
      return signalPassFailure();
    }
    step.drops = !micro.front().getOps<RandomBitsOp>().empty();
    completeMicro(micro, step);
    if (step.drops)
      drawRandomNumbers(micro);
    buildUpdate(module, step);
    buildInit(module, step);
    buildDirectory(module, micro, step);
  }
};
} // namespace

//===- BuildStep.cpp - The entry functions of the training step -----------===//
//
// What was a differentiated function becomes a step: flat regions for what the optimizer walks, an
// @update that reads gradients and writes parameters, and a directory of everything with a name.
//
// Order inside @update: gradient norm, clipping, schedule, optimizer, counters, records. All of it
// is ordinary train ops, so that fusion decides how few kernels it takes. Counters and
// hyperparameters are f64 scalars: the host sees them unrounded and the schedule is computed as
// PyTorch does; they are rounded to the parameters' type where they meet it.
//
// The metrics ring is 64 rows of one tensor per field; writing a row is a select over all rows,
// which keeps it a pure elementwise op in place.
//
//===----------------------------------------------------------------------===//

#include "passes/FlatLayout.h"
#include "passes/Optimizers.h"
#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace halfstep {
#define GEN_PASS_DEF_BUILDSTEPPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
constexpr int64_t kRecordRows = 64;

/// A function under construction: arguments and results with their attributes.
class FunctionBuilder {
public:
  FunctionBuilder(ModuleOp module, StringRef name)
      : b(UnknownLoc::get(module.getContext()), module.getContext()) {
    b.setInsertionPointToEnd(module.getBody());
    function = b.create<func::FuncOp>(name, b.getFunctionType({}, {}));
    b.setInsertionPointToStart(function.addEntryBlock());
    b.setLoc(NameLoc::get(b.getStringAttr(name)));
  }
  Expr argument(Type type, StringRef attribute, StringRef name) {
    unsigned index = function.getNumArguments();
    function.insertArgument(index, type, named(attribute, name), b.getLoc());
    return {function.getArgument(index), &b};
  }
  void result(Expr value, StringRef attribute, StringRef name) {
    results.push_back(value.value);
    attributes.push_back(named(attribute, name));
  }
  void finish() {
    b.create<func::ReturnOp>(results);
    function.setFunctionType(
        b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    function.setResAttrsAttr(b.getArrayAttr(attributes));
  }

  ImplicitLocOpBuilder b;

private:
  DictionaryAttr named(StringRef attribute, StringRef name) {
    return b.getDictionaryAttr(b.getNamedAttr(attribute, b.getStringAttr(name)));
  }
  func::FuncOp function;
  SmallVector<Value> results;
  SmallVector<Attribute> attributes;
};

struct BuildStep : halfstep::impl::BuildStepPassBase<BuildStep> {
  using Base::Base;

  BoundOptimizer bound;
  BoundSchedule rate;

  LogicalResult bindOptions() {
    auto fail = [&](StringRef option, llvm::Error error) {
      return emitError(getOperation().getLoc())
             << "--" << option << ": " << llvm::toString(std::move(error));
    };
    auto spec = Spec::parse(optimizer);
    auto boundOptimizer =
        spec ? bindOptimizer(*spec) : llvm::Expected<BoundOptimizer>(spec.takeError());
    if (!boundOptimizer)
      return fail("optimizer", boundOptimizer.takeError());
    auto scheduleSpec = Spec::parse(schedule);
    auto boundSchedule = scheduleSpec ? bindSchedule(*scheduleSpec)
                                      : llvm::Expected<BoundSchedule>(scheduleSpec.takeError());
    if (!boundSchedule)
      return fail("schedule", boundSchedule.takeError());
    bound = std::move(*boundOptimizer);
    rate = std::move(*boundSchedule);
    return success();
  }

  /// @micro keeps its loss for the records; its seed becomes 1 / accumulate; with several
  /// micro-batches it adds to the gradients and the loss that are there.
  void completeMicro(func::FuncOp micro) {
    Operation *terminator = micro.front().getTerminator();
    ImplicitLocOpBuilder b(NameLoc::get(StringAttr::get(&getContext(), "accumulate")), terminator);
    auto name = [&](StringRef attribute, StringRef value) {
      return b.getDictionaryAttr(b.getNamedAttr(attribute, b.getStringAttr(value)));
    };
    bool several = accumulate > 1;
    for (unsigned i = 0; i < micro.getNumResults(); ++i) {
      Expr value{terminator->getOperand(i), &b};
      auto parameter = micro.getResultAttrOfType<StringAttr>(i, attr::kGradient);
      DictionaryAttr argument, result;
      if (parameter) {
        argument = result = name(attr::kGradient, parameter);
      } else { // the loss
        value = convert(value, b.getF64Type());
        if (several)
          value = value / double(accumulate);
        argument = name(attr::kState, "running_loss");
        result = name(attr::kUpdates, "running_loss");
      }
      if (several) {
        unsigned index = micro.getNumArguments();
        micro.insertArgument(index, value.value.getType(), argument, b.getLoc());
        value = Expr{micro.getArgument(index), &b} + value;
      }
      terminator->setOperand(i, value.value);
      micro.setResultAttrs(i, result);
    }
    for (unsigned i = micro.getNumArguments(); i-- > 0;)
      if (micro.getArgAttr(i, attr::kSeed)) {
        b.setInsertionPointToStart(&micro.front());
        Expr seed{micro.getArgument(i), &b};
        seed.value.replaceAllUsesWith(constant(seed, 1.0 / double(accumulate)).value);
        micro.eraseArgument(i);
      }
    micro.setFunctionType(b.getFunctionType(micro.getArgumentTypes(), terminator->getOperandTypes()));
  }

  void buildUpdate(ArrayRef<FlatLayout> layouts) {
    FunctionBuilder f(getOperation(), "update");
    ImplicitLocOpBuilder &b = f.b;
    auto scalar = RankedTensorType::get({}, b.getF64Type());
    auto state = [&](StringRef name) { return f.argument(scalar, attr::kState, name); };

    struct Region {
      const FlatLayout &layout;
      Expr weight, gradient;
      SmallVector<Expr> slots;
    };
    SmallVector<Region> regions;
    for (const FlatLayout &layout : layouts) {
      auto region = [&](StringRef name) {
        return f.argument(layout.type(), attr::kRegion, layout.region(name));
      };
      Region r{layout, region("parameters"), region("gradients"), {}};
      for (StringRef slot : bound.slots)
        r.slots.push_back(region(slot));
      regions.push_back(r);
    }
    Expr iteration = state("iteration"), applied = state("applied"), loss = state("running_loss");
    llvm::StringMap<Expr> hyperparameters;
    for (auto &[name, value] : bound.hyperparameters)
      hyperparameters[name] = state(name);

    Expr squares;
    for (Region &r : regions) {
      Expr square = convert(sumAll(r.gradient * r.gradient), b.getF64Type());
      squares = squares ? squares + square : square;
    }
    Expr norm = sqrt(squares);
    Expr clip; // torch.nn.utils.clip_grad_norm_
    if (clipNorm > 0)
      clip = minimum(double(clipNorm) / (norm + 1e-6), constant(norm, 1.0));

    Expr step = applied + 1.0;
    Expr lr = rate.rate(hyperparameters.lookup("lr"), rate.perEpoch ? state("epoch") : applied);
    auto scalars = bound.scalars(
        {[&](StringRef name) { return hyperparameters.lookup(name); }, lr, step});

    for (Region &r : regions) {
      SmallVector<Value> operands{r.weight.value, r.gradient.value};
      for (Expr slot : r.slots)
        operands.push_back(slot.value);
      for (Expr value : scalars)
        operands.push_back(convert(value, r.layout.elementType).value);
      if (clip)
        operands.push_back(convert(clip, r.layout.elementType).value);
      unsigned slots = r.slots.size(), count = scalars.size();
      bool clear = accumulate > 1;
      SmallVector<Type> types(1 + slots + clear, r.layout.elementType);
      auto results = buildMap(
          b, operands, Precision::Full, r.weight.sizes(), types,
          [&](ArrayRef<Expr> arguments) {
            Expr gradient = clip ? arguments[1] * arguments.back() : arguments[1];
            auto updated = bound.elements(arguments[0], gradient, arguments.slice(2, slots),
                                          arguments.slice(2 + slots, count));
            if (clear) // the next micro-batch adds to nothing
              updated.push_back(constant(arguments[1], 0.0));
            return updated;
          });
      f.result(results[0], attr::kUpdatesRegion, r.layout.region("parameters"));
      for (unsigned i = 0; i < slots; ++i)
        f.result(results[1 + i], attr::kUpdatesRegion, r.layout.region(bound.slots[i]));
      if (clear)
        f.result(results.back(), attr::kUpdatesRegion, r.layout.region("gradients"));
    }

    Expr next = iteration + 1.0;
    f.result(next, attr::kUpdates, "iteration");
    f.result(step, attr::kUpdates, "applied");
    if (accumulate > 1) {
      auto both = buildMap(b, {loss.value}, Precision::Full, {}, {b.getF64Type(), b.getF64Type()},
                           [](ArrayRef<Expr> arguments) -> SmallVector<Expr> {
                             return {arguments[0], constant(arguments[0], 0.0)};
                           });
      loss = both[0];
      f.result(both[1], attr::kUpdates, "running_loss");
    }
    auto ring = RankedTensorType::get({kRecordRows}, b.getF64Type());
    Expr row = convert(iteration - double(kRecordRows) * floor(iteration / double(kRecordRows)),
                       b.getI32Type());
    auto record = [&](StringRef name, Expr value) {
      Expr old = f.argument(ring, attr::kRecord, name);
      f.result(select(iota(old, 0) == row, value, old), attr::kUpdatesRecord, name);
    };
    record("iteration", next);
    record("applied", step);
    record("loss", loss);
    record("lr", lr);
    record("scale", constant(lr, 1.0));
    record("grad_norm", norm);
    record("skipped", constant(lr, 0.0));
    f.finish();
  }

  /// One `table.tensor` for everything that has a name; `main` is the function that reads all inputs.
  void buildDirectory(func::FuncOp main, ArrayRef<FlatLayout> layouts) {
    ModuleOp module = getOperation();
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    Location location = module.getLoc();
    auto scalar = RankedTensorType::get({}, b.getF64Type());
    auto tensor = [&](StringRef name, table::Role role, Type type) {
      return b.create<table::TensorOp>(location, name, role, cast<RankedTensorType>(type));
    };

    for (const FlatLayout &layout : layouts) {
      SmallVector<std::string> regions{"parameters", "gradients"};
      llvm::append_range(regions, bound.slots);
      for (StringRef region : regions) {
        b.create<table::RegionOp>(location, layout.region(region), layout.type());
        for (const FlatLayout::Entry &entry : layout.entries) {
          bool isParameter = region == "parameters", isGradient = region == "gradients";
          auto op = tensor(isParameter || isGradient ? entry.name : region.str() + "/" + entry.name,
                           isParameter  ? table::Role::Parameter
                           : isGradient ? table::Role::Gradient
                                        : table::Role::Optimizer,
                           entry.type);
          op.setRegion(layout.region(region));
          op.setRegionOffset(entry.offset * layout.elementBytes());
          op.setTrainable(isParameter);
        }
      }
    }
    if (main.getSymName() == "micro") {
      for (StringRef name : {"iteration", "applied", "running_loss"})
        tensor(name, table::Role::Counter, scalar);
      if (rate.perEpoch)
        tensor("epoch", table::Role::Counter, scalar);
      for (auto &[name, value] : bound.hyperparameters)
        tensor(name, table::Role::Hyperparameter, scalar).setInitial(APFloat(value));
      for (StringRef name : {"iteration", "applied", "loss", "lr", "scale", "grad_norm", "skipped"})
        tensor(name, table::Role::Record, RankedTensorType::get({kRecordRows}, b.getF64Type()));
    }

    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      Type type = main.getArgumentTypes()[i];
      if (auto name = main.getArgAttrOfType<StringAttr>(i, attr::kInput)) {
        tensor(name, table::Role::Input, type);
      } else if (main.getArgAttr(i, attr::kLabel)) {
        auto op = tensor("label", table::Role::Label, type);
        op.setClassCountAttr(main.getArgAttrOfType<IntegerAttr>(i, attr::kClassCount));
        op.setIgnoredClassAttr(main.getArgAttrOfType<IntegerAttr>(i, attr::kIgnoredClass));
      } else if (auto name = main.getArgAttrOfType<StringAttr>(i, attr::kParameter);
                 name && !main.getArgAttr(i, attr::kTrainable)) {
        tensor(name, table::Role::Parameter, type);
      }
    }
    auto results = [&](StringRef function, StringRef attribute, table::Role role) {
      if (auto f = module.lookupSymbol<func::FuncOp>(function))
        for (unsigned i = 0; i < f.getNumResults(); ++i)
          tensor(f.getResultAttrOfType<StringAttr>(i, attribute), role, f.getResultTypes()[i]);
    };
    results("infer", attr::kOutput, table::Role::Output);
    results("evaluate", attr::kMetric, table::Role::Metric);
  }

  /// A model that is not trained: @infer alone, whose parameters only get a place.
  void buildForward(func::FuncOp forward) {
    for (unsigned i = 0; i < forward.getNumArguments(); ++i)
      forward.removeArgAttr(i, attr::kTrainable);
    forward.setSymName("infer");
    buildDirectory(forward, {});
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    module->setAttr(table::attr::kMicroBatches,
                    IntegerAttr::get(IntegerType::get(&getContext(), 64), accumulate));
    if (!micro && forward)
      return buildForward(forward);
    if (!micro || !forward || failed(bindOptions()))
      return signalPassFailure();
    auto layouts = layOutParameters(micro);
    completeMicro(micro);
    forward.setSymName("infer");
    buildUpdate(layouts);
    buildDirectory(micro, layouts);
  }
};
} // namespace

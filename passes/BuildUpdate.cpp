//===- BuildUpdate.cpp - @update and @init --------------------------------===//
//
// Everything is ordinary train ops, so that fusion decides how few kernels it takes. Order: squares
// and finite check of the stored gradients, unscaling with the scale that this step used, clipping
// by the f32 norm, update or skip, and only then the next scale. A skipped update is a select in
// the update itself: weights, slots and `applied` keep their bits. Stochastic rounding comes behind
// it, and leaves alone what 16 bits can hold.
//
// Counters and hyperparameters are f64 scalars: the host sees them unrounded and schedules are
// computed as PyTorch does; they are rounded to the optimizer's type where they meet it.
//
// The metrics ring is 64 rows of one tensor per field; writing a row is a select over all rows,
// which keeps it a pure elementwise op in place.
//
//===----------------------------------------------------------------------===//

#include "passes/Step.h"
#include "ir/TrainDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
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
    function.insertArgument(function.getNumArguments(), type, named(attribute, name), b.getLoc());
    return {function.getArguments().back(), &b};
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

/// One layout as values.
struct Regions {
  const FlatLayout &layout;
  Expr weight, gradient;
  SmallVector<Expr> slots;
};

class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, const Step &step) : step(step), f(module, "update"), b(f.b) {}

  void build() {
    for (const FlatLayout &layout : step.layouts)
      addRegions(layout);
    for (const Hyperparameter &h : step.hyperparameters())
      scalars[h.name] = state(h.name);
    for (const std::string &name : step.counters())
      scalars[name] = state(name);
    if (step.roundsStochastically)
      seed = f.argument(RankedTensorType::get({}, b.getI64Type()), attr::kState, "seed");

    checkGradients();
    Expr applied = scalars["applied"];
    Expr next = applied + 1.0;
    Expr lr = step.schedule.rate(scalars["lr"],
                                 step.schedule.perEpoch ? scalars["epoch"] : applied);
    auto values = step.optimizer.scalars(
        {[&](StringRef name) { return scalars.lookup(name); }, lr, next});
    for (Regions &r : regions)
      update(r, values);

    if (overflowed)
      next = select(overflowed, applied, next);
    finishState(next, lr);
    f.finish();
  }

private:
  Expr state(StringRef name) {
    return f.argument(RankedTensorType::get({}, b.getF64Type()), attr::kState, name);
  }

  void addRegions(const FlatLayout &layout) {
    Regions r{layout, {}, {}, {}};
    for (const FlatRegion &region : layout.regions(step.optimizer.slots)) {
      if (region.role == table::Role::Copy)
        continue; // written, not read
      Expr value = f.argument(layout.type(region.elementType), attr::kRegion, region.name);
      if (region.role == table::Role::Parameter)
        r.weight = value;
      else if (region.role == table::Role::Gradient)
        r.gradient = value;
      else
        r.slots.push_back(value);
    }
    regions.push_back(r);
  }

  /// The norm of the unscaled gradients, whether one of them is not finite, and what they are to
  /// be multiplied by.
  void checkGradients() {
    Type f64 = b.getF64Type();
    Expr squares, bad;
    for (Regions &r : regions) {
      Expr g = convert(r.gradient, computeType(r.gradient.elementType()));
      Expr square = convert(sumAll(g * g), f64);
      squares = squares ? squares + square : square;
      if (!step.lossScale.scales)
        continue;
      // g - g is zero for numbers and NaN for what is none.
      Expr count = convert(
          sumAll(select(g - g == 0.0, constant(g, 0.0), constant(g, 1.0))), f64);
      bad = bad ? bad + count : count;
    }
    norm = sqrt(squares);
    if (step.lossScale.scales) {
      overflowed = bad > 0.0;
      factor = 1.0 / scalars["scale"];
      norm = norm * factor;
    }
    if (step.clipNorm > 0) { // torch.nn.utils.clip_grad_norm_
      Expr clip = minimum(step.clipNorm / (norm + 1e-6), constant(norm, 1.0));
      factor = factor ? factor * clip : clip;
    }
  }

  void update(const Regions &r, ArrayRef<Expr> values) {
    const FlatLayout &layout = r.layout;
    Type compute = computeType(layout.parameterType);
    unsigned slots = r.slots.size(), count = values.size();
    bool clear = step.accumulate > 1;

    SmallVector<Value> operands{r.weight.value, r.gradient.value};
    for (Expr slot : r.slots)
      operands.push_back(slot.value);
    for (Expr value : values)
      operands.push_back(convert(value, compute).value);
    if (factor)
      operands.push_back(convert(factor, compute).value);
    if (overflowed)
      operands.push_back(overflowed.value);

    SmallVector<std::pair<std::string, Type>> targets; // region and type of each result
    for (const FlatRegion &region : layout.regions(step.optimizer.slots))
      if (region.role != table::Role::Gradient || clear)
        targets.emplace_back(region.name, region.elementType);
    auto types = llvm::map_to_vector(targets, [](auto &target) { return target.second; });
    bool atRandom = step.roundsStochastically && layout.isNarrow();
    if (atRandom)
      types.front() = compute;
    auto results = buildMap(
        b, operands, Precision::Unrounded, r.weight.sizes(), types,
        [&](ArrayRef<Expr> a) -> SmallVector<Expr> {
          Expr weight = a[0], gradient = convert(a[1], compute);
          ArrayRef<Expr> old = a.slice(2, slots);
          if (factor)
            gradient = gradient * a[2 + slots + count];
          auto fresh =
              step.optimizer.elements(weight, gradient, old, a.slice(2 + slots, count));
          if (overflowed) {
            fresh[0] = select(a.back(), weight, fresh[0]);
            for (unsigned i = 0; i < slots; ++i)
              fresh[1 + i] = select(a.back(), old[i], fresh[1 + i]);
          }
          SmallVector<Expr> list{fresh[0]};
          if (layout.copyType)
            list.push_back(fresh[0]); // rounded as it is stored
          if (clear) // the next micro-batch adds to nothing
            list.push_back(constant(a[1], 0.0));
          list.append(fresh.begin() + 1, fresh.end());
          return list;
        });
    if (atRandom) { // by the place in the region: a key for each parameter would have to be stored
      RandomTime time{constant(scalars["iteration"], 0.0), scalars["iteration"], seed};
      Expr bits = drawBits(time, kRoundingStreams + (&r - regions.begin()), r.weight.sizes());
      results.front() = {
          b.create<StochasticCastOp>(results.front().value, bits.value, layout.parameterType), &b};
    }
    for (auto [result, target] : llvm::zip(results, targets))
      f.result(result, attr::kUpdatesRegion, target.first);
  }

  void finishState(Expr applied, Expr lr) {
    Expr iteration = scalars["iteration"], loss = scalars["running_loss"];
    Expr next = iteration + 1.0;
    f.result(next, attr::kUpdates, "iteration");
    f.result(applied, attr::kUpdates, "applied");
    if (step.accumulate > 1) {
      auto both = buildMap(b, {loss.value}, Precision::Unrounded, {},
                           {b.getF64Type(), b.getF64Type()},
                           [](ArrayRef<Expr> a) -> SmallVector<Expr> {
                             return {a[0], constant(a[0], 0.0)};
                           });
      loss = both[0];
      f.result(both[1], attr::kUpdates, "running_loss");
    }
    if (scalars.contains("micro"))
      f.result(constant(iteration, 0.0), attr::kUpdates, "micro");
    if (step.lossScale.dynamic) {
      auto [scale, growth] =
          LossScale::adapt(scalars["scale"], scalars["growth"], overflowed,
                           [&](StringRef name) { return scalars.lookup(name); });
      f.result(scale, attr::kUpdates, "scale");
      f.result(growth, attr::kUpdates, "growth");
    }

    Expr one = constant(lr, 1.0), zero = constant(lr, 0.0);
    std::pair<StringRef, Expr> fields[] = {
        {"iteration", next},
        {"applied", applied},
        {"loss", loss},
        {"lr", lr},
        {"scale", step.lossScale.scales ? scalars["scale"] : one},
        {"grad_norm", norm},
        {"skipped", overflowed ? select(overflowed, one, zero) : zero}};
    double rows = double(kRecordRows);
    Expr row = convert(iteration - rows * floor(iteration / rows), b.getI32Type());
    for (auto &[name, value] : fields) {
      Expr old = f.argument(RankedTensorType::get({kRecordRows}, b.getF64Type()), attr::kRecord,
                            name);
      f.result(select(iota(old, 0) == row, value, old), attr::kUpdatesRecord, name);
    }
  }

  const Step &step;
  FunctionBuilder f;
  ImplicitLocOpBuilder &b;
  SmallVector<Regions> regions;
  llvm::StringMap<Expr> scalars;
  Expr seed; // null where nothing is rounded at random
  Expr norm;
  Expr overflowed; // i1; null where gradients are not checked
  Expr factor;     // null for 1
};
} // namespace

void halfstep::buildUpdate(ModuleOp module, const Step &step) {
  UpdateBuilder(module, step).build();
}

void halfstep::buildInit(ModuleOp module, const Step &step) {
  if (llvm::none_of(step.layouts, [](const FlatLayout &l) { return bool(l.copyType); }))
    return;
  FunctionBuilder f(module, "init");
  for (const FlatLayout &layout : step.layouts) {
    Expr master;
    for (const FlatRegion &region : layout.regions({})) {
      if (region.role == table::Role::Parameter && layout.copyType)
        master = f.argument(layout.type(region.elementType), attr::kRegion, region.name);
      if (region.role == table::Role::Copy)
        f.result(convert(master, region.elementType), attr::kUpdatesRegion, region.name);
    }
  }
  f.finish();
}

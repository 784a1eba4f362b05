//===- LossScale.cpp - The loss scale, in the step ------------------------===//

#include "passes/LossScale.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

static constexpr double kMaxSkips = 20;
static constexpr table::Range kRange = table::Range::LossScale;

static constexpr SpecKey kKeys[] = {{"init_scale", "65536"},
                                    {"growth_factor", "2"},
                                    {"backoff_factor", "0.5"},
                                    {"growth_interval", "2000"},
                                    {"max_skips", "20"}};

llvm::Expected<LossScale> halfstep::bindLossScale(StringRef text) {
  if (text == "none")
    return LossScale{};
  double number;
  if (!text.getAsDouble(number)) {
    if (table::Bounds bounds = boundsOf(kRange); !bounds.contain(number))
      return llvm::createStringError("a loss scale " + bounds.requirement + " (got " + text + ")");
    return LossScale{
        true,
        false,
        {{"scale", number, kRange}, {"max_skips", kMaxSkips, table::Range::AtLeastOne}}};
  }
  auto spec = Spec::parse(text);
  if (!spec)
    return spec.takeError();
  if (spec->name != "dynamic")
    return llvm::createStringError("'" + text + "' is neither dynamic, none nor a number");
  SpecReader options("loss scale", *spec, kKeys);
  LossScale result{true, true, {}};
  auto setting = [&](StringRef key, table::Range range, StringRef name) {
    result.hyperparameters.push_back(readHyperparameter(options, key, range, name));
  };
  setting("init_scale", kRange, "scale");
  setting("growth_factor", table::Range::AboveOne, "growth_factor");
  setting("backoff_factor", table::Range::Fraction, "backoff_factor");
  setting("growth_interval", table::Range::AtLeastOne, "growth_interval");
  setting("max_skips", table::Range::AtLeastOne, "max_skips");
  if (auto error = options.takeError())
    return std::move(error);
  return result;
}

std::pair<Expr, Expr> LossScale::adapt(Expr scale, Expr growth, Expr overflowed,
                                       const std::function<Expr(StringRef)> &hyperparameter) {
  // The floor keeps a scale that is halved for ever from reaching zero; the ceiling is torch's: the
  // scale stays a finite f32.
  constexpr double kFloor = 0x1p-24, kCeiling = 0x1p127;
  Expr smaller = maximum(scale * hyperparameter("backoff_factor"), constant(scale, kFloor));
  Expr good = growth + 1.0;
  Expr grows = good >= hyperparameter("growth_interval");
  Expr larger = minimum(scale * hyperparameter("growth_factor"), constant(scale, kCeiling));
  Expr nextScale = select(overflowed, smaller, select(grows, larger, scale));
  Expr zero = constant(growth, 0.0);
  Expr nextGrowth = select(overflowed, zero, select(grows, zero, good));
  return {nextScale, nextGrowth};
}

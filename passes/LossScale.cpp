//===- LossScale.cpp - The loss scale, in the step ------------------------===//

#include "passes/LossScale.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

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
    if (!(number > 0) || !std::isfinite(number))
      return llvm::createStringError("a loss scale must be a positive number");
    return LossScale{true, false, {{"scale", number}, {"max_skips", 20}}};
  }
  auto spec = Spec::parse(text);
  if (!spec)
    return spec.takeError();
  if (spec->name != "dynamic")
    return llvm::createStringError("'" + text + "' is neither dynamic, none nor a number");
  SpecReader options("loss scale", *spec, kKeys);
  LossScale result{true, true, {{"scale", options.number("init_scale")}}};
  auto setting = [&](StringRef key, auto isValid, const char *requirement) {
    double value = options.number(key);
    if (!isValid(value))
      options.reject(key, requirement);
    result.hyperparameters.emplace_back(key, value);
  };
  if (!(options.number("init_scale") > 0))
    options.reject("init_scale", "must be positive");
  setting("growth_factor", [](double v) { return v > 1; }, "must be above 1");
  setting("backoff_factor", [](double v) { return v > 0 && v < 1; }, "must lie between 0 and 1");
  setting("growth_interval", [](double v) { return v >= 1 && v == std::floor(v); },
          "must be a whole number of steps");
  setting("max_skips", [](double v) { return v >= 1 && v == std::floor(v); },
          "must be a whole number of steps");
  if (auto error = options.takeError())
    return std::move(error);
  return result;
}

std::pair<Expr, Expr> LossScale::adapt(Expr scale, Expr growth, Expr overflowed,
                                       const std::function<Expr(StringRef)> &hyperparameter) {
  // The floor keeps a scale that is halved for ever from reaching zero; the ceiling is torch's: the
  // scale stays a finite f32.
  constexpr double kFloor = 0x1p-24, kCeiling = 0x1p127;
  Expr smaller =
      maximum(scale * hyperparameter("backoff_factor"), constant(scale, kFloor));
  Expr good = growth + 1.0;
  Expr grows = good >= hyperparameter("growth_interval");
  Expr larger = minimum(scale * hyperparameter("growth_factor"), constant(scale, kCeiling));
  Expr nextScale = select(overflowed, smaller, select(grows, larger, scale));
  Expr zero = constant(growth, 0.0);
  Expr nextGrowth = select(overflowed, zero, select(grows, zero, good));
  return {nextScale, nextGrowth};
}

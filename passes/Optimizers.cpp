//===- Optimizers.cpp - Optimizers and schedules by name ------------------===//
//
// The formulas, keys and defaults are those of torch.optim (non-foreach implementations), eps
// outside the root. State starts at zero. Scalars are computed in f64 as Python does, so that
// bias corrections and schedules agree with PyTorch to the last bit that f32 can see.
//
//===----------------------------------------------------------------------===//

#include "passes/Optimizers.h"
#include "llvm/Support/MathExtras.h"
#include <array>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
/// The first N of a list, to be given names by a structured binding.
template <size_t N> std::array<Expr, N> take(ArrayRef<Expr> list) {
  std::array<Expr, N> result;
  llvm::copy(list.take_front(N), result.begin());
  return result;
}

void addHyperparameter(BoundOptimizer &bound, SpecReader &options, StringRef key) {
  bound.hyperparameters.push_back(readHyperparameter(options, key, table::Range::NonNegative));
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

BoundOptimizer bindSgd(SpecReader &options) {
  BoundOptimizer bound;
  bool nesterov = options.flag("nesterov"), hasMomentum = options.number("momentum") != 0;
  if (nesterov && (!hasMomentum || options.number("dampening") != 0))
    options.reject("nesterov", "needs a momentum and no dampening");
  addHyperparameter(bound, options, "lr");
  addHyperparameter(bound, options, "weight_decay");
  if (!hasMomentum) {
    bound.scalars = [](const UpdateScalars &s) -> SmallVector<Expr> {
      return {s.learningRate, s.hyperparameter("weight_decay")};
    };
    bound.elements = [](Expr w, Expr g, ArrayRef<Expr>, ArrayRef<Expr> scalars)
        -> SmallVector<Expr> {
      auto [lr, decay] = take<2>(scalars);
      return {w - lr * (g + decay * w)};
    };
    return bound;
  }
  addHyperparameter(bound, options, "momentum");
  addHyperparameter(bound, options, "dampening");
  bound.slots = {"momentum_buffer"};
  bound.scalars = [](const UpdateScalars &s) -> SmallVector<Expr> {
    Expr momentum = s.hyperparameter("momentum");
    // The first buffer is the gradient itself, undampened.
    Expr share = select(s.step == 1.0, constant(momentum, 1.0),
                        1.0 - s.hyperparameter("dampening"));
    return {s.learningRate, s.hyperparameter("weight_decay"), momentum, share};
  };
  bound.elements = [=](Expr w, Expr g, ArrayRef<Expr> slots, ArrayRef<Expr> scalars)
      -> SmallVector<Expr> {
    auto [lr, decay, momentum, share] = take<4>(scalars);
    g = g + decay * w;
    Expr buffer = momentum * slots[0] + share * g;
    return {w - lr * (nesterov ? g + momentum * buffer : buffer), buffer};
  };
  return bound;
}

/// Adam, and with `decoupled` AdamW: the decay shrinks the weight instead of joining the gradient.
BoundOptimizer bindAdamLike(SpecReader &options, bool decoupled) {
  BoundOptimizer bound;
  addHyperparameter(bound, options, "lr");
  auto betas = options.list("betas");
  constexpr table::Range range = table::Range::BelowOne;
  if (betas.size() != 2 ||
      !llvm::all_of(betas, [](double beta) { return boundsOf(range).contain(beta); })) {
    options.reject("betas", "must be two numbers from 0 to below 1, as in betas=0.9:0.999");
    return bound;
  }
  bound.hyperparameters.push_back({"beta1", betas[0], range});
  bound.hyperparameters.push_back({"beta2", betas[1], range});
  addHyperparameter(bound, options, "eps");
  addHyperparameter(bound, options, "weight_decay");
  bool amsgrad = options.flag("amsgrad");
  bound.slots = {"exp_avg", "exp_avg_sq"};
  if (amsgrad)
    bound.slots.push_back("max_exp_avg_sq");
  bound.scalars = [=](const UpdateScalars &s) -> SmallVector<Expr> {
    Expr beta1 = s.hyperparameter("beta1"), beta2 = s.hyperparameter("beta2");
    Expr decay = s.hyperparameter("weight_decay");
    return {s.learningRate / (1.0 - pow(beta1, s.step)), // step size
            sqrt(1.0 - pow(beta2, s.step)),              // correction of the root
            1.0 - beta1,
            beta2,
            1.0 - beta2,
            s.hyperparameter("eps"),
            decoupled ? 1.0 - s.learningRate * decay : decay};
  };
  bound.elements = [=](Expr w, Expr g, ArrayRef<Expr> slots, ArrayRef<Expr> scalars)
      -> SmallVector<Expr> {
    auto [stepSize, rootCorrection, mix1, beta2, mix2, eps, decay] = take<7>(scalars);
    if (decoupled)
      w = w * decay;
    else
      g = g + decay * w;
    Expr mean = slots[0] + mix1 * (g - slots[0]);
    Expr square = beta2 * slots[1] + mix2 * g * g;
    Expr bound = amsgrad ? maximum(slots[2], square) : square;
    w = w - stepSize * (mean / (sqrt(bound) / rootCorrection + eps));
    if (amsgrad)
      return {w, mean, square, bound};
    return {w, mean, square};
  };
  return bound;
}
BoundOptimizer bindAdam(SpecReader &options) { return bindAdamLike(options, false); }
BoundOptimizer bindAdamW(SpecReader &options) { return bindAdamLike(options, true); }

BoundOptimizer bindRmsprop(SpecReader &options) {
  BoundOptimizer bound;
  bool centered = options.flag("centered"), hasMomentum = options.number("momentum") != 0;
  for (StringRef key : {"lr", "alpha", "eps", "weight_decay"})
    addHyperparameter(bound, options, key);
  bound.slots = {"square_avg"};
  if (centered)
    bound.slots.push_back("grad_avg");
  if (hasMomentum) {
    bound.slots.push_back("momentum_buffer");
    addHyperparameter(bound, options, "momentum");
  }
  bound.scalars = [=](const UpdateScalars &s) -> SmallVector<Expr> {
    Expr alpha = s.hyperparameter("alpha");
    SmallVector<Expr> result{s.learningRate, alpha, 1.0 - alpha, s.hyperparameter("eps"),
                             s.hyperparameter("weight_decay")};
    if (hasMomentum)
      result.push_back(s.hyperparameter("momentum"));
    return result;
  };
  bound.elements = [=](Expr w, Expr g, ArrayRef<Expr> slots, ArrayRef<Expr> scalars)
      -> SmallVector<Expr> {
    auto [lr, alpha, mix, eps, decay] = take<5>(scalars);
    g = g + decay * w;
    SmallVector<Expr> state{alpha * slots[0] + mix * g * g};
    Expr variance = state[0];
    if (centered) {
      state.push_back(slots[1] + mix * (g - slots[1]));
      variance = variance - state[1] * state[1];
    }
    Expr move = g / (sqrt(variance) + eps);
    if (hasMomentum)
      state.push_back(move = scalars[5] * slots.back() + move);
    SmallVector<Expr> result{w - lr * move};
    result.append(state);
    return result;
  };
  return bound;
}

constexpr SpecKey kSgdKeys[] = {{"lr", "1e-3"},
                                {"momentum", "0"},
                                {"dampening", "0"},
                                {"weight_decay", "0"},
                                {"nesterov", "false"}};
constexpr SpecKey kAdamKeys[] = {{"lr", "1e-3"},
                                 {"betas", "0.9:0.999"},
                                 {"eps", "1e-8"},
                                 {"weight_decay", "0"},
                                 {"amsgrad", "false"}};
constexpr SpecKey kAdamWKeys[] = {{"lr", "1e-3"},
                                  {"betas", "0.9:0.999"},
                                  {"eps", "1e-8"},
                                  {"weight_decay", "1e-2"},
                                  {"amsgrad", "false"}};
constexpr SpecKey kRmspropKeys[] = {{"lr", "1e-2"},       {"alpha", "0.99"},  {"eps", "1e-8"},
                                    {"weight_decay", "0"}, {"momentum", "0"}, {"centered", "false"}};
constexpr OptimizerInfo kOptimizers[] = {
    {"sgd", "gradient descent, with momentum if given", kSgdKeys, bindSgd},
    {"adam", "Adam; weight decay joins the gradient", kAdamKeys, bindAdam},
    {"adamw", "Adam with decoupled weight decay", kAdamWKeys, bindAdamW},
    {"rmsprop", "RMSprop", kRmspropKeys, bindRmsprop}};

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

BoundSchedule bindConstant(SpecReader &) {
  return {false, [](Expr base, Expr) { return base; }};
}

/// torch.optim.lr_scheduler.CosineAnnealingLR in closed form.
BoundSchedule bindCosine(SpecReader &options) {
  StringRef unit = options.text("unit");
  if (unit != "step" && unit != "epoch")
    options.reject("unit", "must be step or epoch");
  double period = options.number("t_max"), floor = options.number("eta_min");
  if (!(period > 0))
    options.reject("t_max", "must be positive");
  return {unit == "epoch", [=](Expr base, Expr count) {
            Expr wave = 1.0 + cos(count * (llvm::numbers::pi / period));
            return floor + (base - floor) * wave * 0.5;
          }};
}

constexpr SpecKey kCosineKeys[] = {{"t_max", ""}, {"eta_min", "0"}, {"unit", "step"}};
constexpr ScheduleInfo kSchedules[] = {
    {"constant", "the base rate throughout", {}, bindConstant},
    {"cosine", "cosine annealing from the base rate to eta_min in t_max steps or epochs",
     kCosineKeys, bindCosine}};

template <typename Bound, typename Info>
llvm::Expected<Bound> bind(StringRef kind, const Spec &spec, ArrayRef<Info> infos) {
  for (const Info &info : infos)
    if (info.name == spec.name) {
      SpecReader options(kind, spec, info.keys);
      Bound bound = info.bind(options);
      if (auto error = options.takeError())
        return std::move(error);
      return bound;
    }
  auto names = llvm::map_to_vector(infos, [](const Info &info) -> StringRef { return info.name; });
  return llvm::createStringError("unknown " + kind + " '" + spec.name + "'; " +
                                 suggestion(spec.name, names));
}
} // namespace

ArrayRef<OptimizerInfo> halfstep::optimizers() { return kOptimizers; }
ArrayRef<ScheduleInfo> halfstep::schedules() { return kSchedules; }

llvm::Expected<BoundOptimizer> halfstep::bindOptimizer(const Spec &spec) {
  return bind<BoundOptimizer>("optimizer", spec, optimizers());
}
llvm::Expected<BoundSchedule> halfstep::bindSchedule(const Spec &spec) {
  return bind<BoundSchedule>("schedule", spec, schedules());
}

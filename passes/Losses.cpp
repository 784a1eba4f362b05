//===- Losses.cpp - The losses by name ------------------------------------===//
//
// What `--loss NAME[:key=value,...]` means: the label that it needs, the ops that it builds and the
// metrics that go with it. Keys and defaults are those of torch.nn.functional, plus
//   axis    the class axis of cross-entropy (default 1, as PyTorch)
//   ignore_index  none unless given: counting the samples that count costs a pass over the labels
//   target  ids (default) or probabilities: what the label of cross-entropy holds. The data comes
//           only after compilation, so it cannot be seen from the label.
//
//===----------------------------------------------------------------------===//

#include "passes/Losses.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
using Metrics = std::vector<std::pair<std::string, Expr>>;

/// An op that takes the output, and the label if it has one, to a scalar.
template <typename Op, typename... Arguments> Expr build(Expr x, Arguments... arguments) {
  return {x.builder->create<Op>(x.value, arguments...), x.builder};
}

LossReduction reduction(SpecReader &options) {
  StringRef text = options.text("reduction");
  if (text != "mean" && text != "sum")
    options.reject("reduction", "must be mean or sum");
  return text == "sum" ? LossReduction::Sum : LossReduction::Mean;
}

/// The loss is what trains, so the label has the output's shape and type.
BoundLoss bindMse(SpecReader &options, RankedTensorType output) {
  auto how = reduction(options);
  BoundLoss bound;
  bound.label = LabelInfo{output, {}, {}};
  bound.loss = [=](Expr x, Expr label) { return build<MseLossOp>(x, label.value, how); };
  bound.metrics = [](Expr x, Expr label) {
    return Metrics{{"mae", build<AbsoluteErrorOp>(x, label.value)}};
  };
  return bound;
}

BoundLoss bindCrossEntropy(SpecReader &options, RankedTensorType output) {
  auto how = reduction(options);
  double smoothing = options.number("label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1))
    options.reject("label_smoothing", "must lie between 0 and 1");
  int64_t axis = options.integer("axis"), rank = output.getRank();
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis >= rank) {
    options.reject("axis", "must be a dimension of the output, which has " + Twine(rank));
    return {};
  }
  StringRef target = options.text("target");
  if (target != "ids" && target != "probabilities")
    options.reject("target", "must be ids or probabilities");
  bool ids = target == "ids";

  std::optional<int64_t> ignored;
  if (options.isGiven("ignore_index")) {
    ignored = options.integer("ignore_index");
    if (!ids)
      options.reject("ignore_index", "goes with class ids, not with target=probabilities");
    else if (!llvm::isInt<32>(*ignored) || (*ignored >= 0 && *ignored < output.getDimSize(axis)))
      options.reject("ignore_index", "must be a number of 32 bits that is no class");
  }
  BoundLoss bound;
  if (ids) {
    SmallVector<int64_t> sizes(output.getShape());
    sizes.erase(sizes.begin() + axis);
    bound.label =
        LabelInfo{RankedTensorType::get(sizes, IntegerType::get(output.getContext(), 64)),
                  output.getDimSize(axis), ignored};
  } else {
    bound.label = LabelInfo{output, {}, {}};
  }
  bound.loss = [=](Expr x, Expr label) {
    return build<CrossEntropyOp>(x, label.value, axis, how, APFloat(smoothing),
                                 ignored ? x.builder->getI64IntegerAttr(*ignored) : IntegerAttr());
  };
  bound.metrics = [=](Expr x, Expr label) {
    return ids ? Metrics{{"accuracy", build<AccuracyOp>(
                                             x, label.value, axis,
                                             ignored ? x.builder->getI64IntegerAttr(*ignored)
                                                     : IntegerAttr())}} : Metrics{};
  };
  return bound;
}

BoundLoss bindMean(SpecReader &, RankedTensorType) {
  return {std::nullopt, [](Expr x, Expr) { return build<MeanLossOp>(x); },
          [](Expr, Expr) { return Metrics{}; }};
}

BoundLoss bindOutput(SpecReader &options, RankedTensorType output) {
  if (output.getNumElements() != 1)
    options.reject("", "needs a model whose output is one number; this one has " +
                           Twine(output.getNumElements()));
  return {std::nullopt, [](Expr x, Expr) { return build<OutputLossOp>(x); },
          [](Expr, Expr) { return Metrics{}; }};
}

constexpr SpecKey kMseKeys[] = {{"reduction", "mean"}};
constexpr SpecKey kCrossEntropyKeys[] = {{"reduction", "mean"},
                                         {"label_smoothing", "0"},
                                         {"ignore_index", "none"},
                                         {"axis", "1"},
                                         {"target", "ids"}};
constexpr LossInfo kLosses[] = {
    {"mse", "mean squared error; the label has the output's shape", kMseKeys, bindMse},
    {"cross-entropy", "softmax and negative log-likelihood of class ids or soft targets",
     kCrossEntropyKeys, bindCrossEntropy},
    {"mean", "the mean of the output; no label", {}, bindMean},
    {"output", "the model's own scalar output; no label", {}, bindOutput}};
} // namespace

ArrayRef<LossInfo> halfstep::losses() { return kLosses; }

llvm::Expected<BoundLoss> halfstep::bindLoss(const Spec &spec, RankedTensorType output) {
  for (const LossInfo &info : kLosses)
    if (info.name == spec.name) {
      SpecReader options("loss", spec, info.keys);
      BoundLoss bound = info.bind(options, output);
      if (auto error = options.takeError())
        return std::move(error);
      return bound;
    }
  auto names = llvm::map_to_vector(kLosses, [](const LossInfo &info) -> StringRef {
    return info.name;
  });
  return llvm::createStringError("unknown loss '" + spec.name + "'; " +
                                 suggestion(spec.name, names));
}

//===- Losses.cpp - The losses by name ------------------------------------===//
//
// What `--loss NAME[:key=value,...]` means: the label that it needs, the ops that it builds and the
// metrics that go with it. Keys and defaults are those of torch.nn.functional, plus
//   axis    the class axis of cross-entropy (default 1, as PyTorch)
//   target  ids (default) or probabilities: what the label of cross-entropy holds. The data comes
//           only after compilation, so it cannot be seen from the label.
//
//===----------------------------------------------------------------------===//

#include "passes/Losses.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
using Metrics = std::vector<std::pair<std::string, Expr>>;

Expr meanAll(Expr x) {
  return sumAll(x) / double(ShapedType::getNumElements(x.sizes()));
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
  bound.loss = [=](Expr x, Expr label) {
    return Expr{x.builder->create<MseLossOp>(x.value, label.value, how), x.builder};
  };
  bound.metrics = [](Expr x, Expr label) {
    return Metrics{{"mae", meanAll(abs(x - label))}};
  };
  return bound;
}

/// The share of samples whose first largest score is at the label.
Expr accuracy(Expr x, Expr label, int64_t axis) {
  SmallVector<int64_t> sizes(x.sizes());
  double classes = double(std::exchange(sizes[axis], 1));
  Expr position = iota(x, axis);
  Expr candidates = select(x == max(x, {axis}), position, constant(position, classes));
  Expr best{x.builder->create<MinOp>(candidates.value, ArrayRef<int64_t>{axis}), x.builder};
  Expr hit = best == convert(reshape(label, sizes), best.elementType());
  return meanAll(convert(hit, x.elementType()));
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
    auto &b = *x.builder;
    return Expr{b.create<CrossEntropyOp>(
                    x.value, label.value, axis, how, APFloat(smoothing),
                    ignored ? b.getI64IntegerAttr(*ignored) : IntegerAttr()),
                &b};
  };
  bound.metrics = [=](Expr x, Expr label) {
    return ids ? Metrics{{"accuracy", accuracy(x, label, axis)}} : Metrics{};
  };
  return bound;
}

BoundLoss bindMean(SpecReader &, RankedTensorType) {
  return {std::nullopt, [](Expr x, Expr) { return meanAll(x); },
          [](Expr, Expr) { return Metrics{}; }};
}

BoundLoss bindOutput(SpecReader &options, RankedTensorType output) {
  if (output.getNumElements() != 1)
    options.reject("", "needs a model whose output is one number; this one has " +
                           Twine(output.getNumElements()));
  return {std::nullopt, [](Expr x, Expr) { return reshape(x, ArrayRef<int64_t>{}); },
          [](Expr, Expr) { return Metrics{}; }};
}

constexpr SpecKey kMseKeys[] = {{"reduction", "mean"}};
constexpr SpecKey kCrossEntropyKeys[] = {{"reduction", "mean"},
                                         {"label_smoothing", "0"},
                                         {"ignore_index", "-100"},
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

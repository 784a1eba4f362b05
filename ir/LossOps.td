//===- LossOps.td - Losses ------------------------------------------------===//
//
// A loss is a scalar (rank 0), f32 or wider in every precision mode: so is its incoming adjoint.
//
//===----------------------------------------------------------------------===//

include "ir/OpBase.td"

def MeanReduction : I32EnumAttrCase<"Mean", 0, "mean">;
def SumReduction : I32EnumAttrCase<"Sum", 1, "sum">;
def LossReductionAttr : I32EnumAttr<"LossReduction", "how a loss is reduced to a scalar",
                                    [MeanReduction, SumReduction]> {
  let cppNamespace = "::halfstep::train";
}

class Loss<string mnemonic, dag operands_, dag attributes_ = (ins), bit differentiable = 1>
    : Composite<mnemonic, operands_, attributes_, differentiable> {
  let category = Unrounded;
}
class Metric<string mnemonic, dag operands_, dag attributes_ = (ins)>
    : Loss<mnemonic, operands_, attributes_, /*differentiable=*/0>;

def MeanLossOp : Loss<"mean_loss", (ins AnyStaticShapeTensor:$x)> {
  let summary = "the mean of all elements";
  let shape = [{e.scalar({x})}];
  let grad = [{broadcast(dy / lossCount(x, LossReduction::Mean), x)}];
  let expansion = [{sumAll(x) / lossCount(x, LossReduction::Mean)}];
}
def OutputLossOp : Loss<"output_loss", (ins AnyStaticShapeTensor:$x)> {
  let summary = "the one element of x";
  let shape = [{e.element(x)}];
  let grad = [{reshape(dy, x)}];
  let expansion = [{reshape(x, ::llvm::ArrayRef<int64_t>{})}];
}

def MseLossOp : Loss<"mse_loss", (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$target),
                     (ins LossReductionAttr:$reduction)> {
  let summary = "(x - target)^2, averaged over all elements or summed";
  let shape = [{e.scalar({x, target})}];
  let grad = [{dy * (2.0 / lossCount(x, getReduction())) * (x - target),
               dy * (2.0 / lossCount(x, getReduction())) * (target - x)}];
  let expansion = [{sumAll((x - target) * (x - target)) / lossCount(x, getReduction())}];
}

// Class ids: `label` has the shape of x without `axis`. Long rules: ir/LossOps.cpp.
def CrossEntropyOp : Loss<"cross_entropy",
      (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$label),
      (ins I64Attr:$axis, LossReductionAttr:$reduction,
           DefaultValuedAttr<F64Attr, "0.0">:$labelSmoothing,
           OptionalAttr<I64Attr>:$ignoreIndex)> {
  let summary = "negative log-likelihood of class ids or soft targets under softmax(x)";
  let description = [{
    Integer labels are class ids and have the shape of `x` without `axis`; a label equal to
    `ignoreIndex` takes no part, neither in the sum nor in the count. Float labels are probabilities
    of the shape of `x`. The mean is over samples, as torch.nn.functional.cross_entropy has it.
  }];
  let shape = [{e.crossEntropy(x, label, adaptor.getAxis())}];
}

def AccuracyOp : Metric<"accuracy", (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$label),
                        (ins I64Attr:$axis, OptionalAttr<I64Attr>:$ignoreIndex)> {
  let summary = "the share of samples whose first largest score is at the label";
  let description = "Samples whose label is `ignoreIndex` do not count.";
  let shape = [{e.crossEntropy(x, label, adaptor.getAxis())}];
}
def AbsoluteErrorOp : Metric<"absolute_error",
                             (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$target)> {
  let summary = "the mean of |x - target|";
  let shape = [{e.scalar({x, target})}];
  let expansion = [{sumAll(abs(x - target)) / lossCount(x, LossReduction::Mean)}];
}

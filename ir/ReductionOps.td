//===- ReductionOps.td - Sums and extrema over axes -----------------------===//
//
// The result keeps the rank: a reduced axis has size 1. 16-bit values are accumulated in f32.
//
//===----------------------------------------------------------------------===//

include "ir/OpBase.td"

class Reduction<string mnemonic>
    : Train_Op<mnemonic, (ins AnyStaticShapeTensor:$x), (ins DenseI64ArrayAttr:$axes), 1,
               [DeclareOpInterfaceMethods<ReductionOpInterface>]> {
  let shape = [{e.reduce(x, adaptor.getAxes())}];
  string kind = "";
  let formulaDefinition = "::halfstep::train::ReductionKind $cppClass::kind() { return "
      "::halfstep::train::ReductionKind::" # kind # "; }\n";
}

def SumOp : Reduction<"sum"> {
  let summary = "the sum over `axes`";
  let category = Full;
  let kind = "Add";
  let grad = [{broadcast(dy, x)}];
}
// Ties share the adjoint evenly (PyTorch's amax); the count is a sum, hence never 16 bits wide.
def MaxOp : Reduction<"max"> {
  let summary = "the largest number over `axes`; NaN if there is one";
  let category = Widest;
  let kind = "Max";
  let grad = [{extremumGradient(x, y, dy, getAxes())}];
}
def MinOp : Reduction<"min"> {
  let summary = "the smallest number over `axes`; NaN if there is one";
  let category = Widest;
  let kind = "Min";
  let grad = [{extremumGradient(x, y, dy, getAxes())}];
}
class ReductionFormula<string mnemonic>
    : Composite<mnemonic, (ins AnyStaticShapeTensor:$x), (ins DenseI64ArrayAttr:$axes)> {
  let shape = [{e.reduce(x, adaptor.getAxes())}];
}

def MeanOp : ReductionFormula<"mean"> {
  let summary = "the mean over `axes`";
  let category = Widest;
  let grad = [{broadcast(dy / elementCount(x, getAxes()), x)}];
  let expansion = [{sum(x, getAxes()) / elementCount(x, getAxes())}];
}
// The norm of a zero vector has the subgradient 0.
def NormOp : ReductionFormula<"norm"> {
  let summary = "the Euclidean norm, sqrt(sum(x^2))";
  let category = Full;
  let grad = [{select(y == 0.0, constant(dy, 0.0), dy * (x / y))}];
  let expansion = [{sqrt(sum(x * x, getAxes()))}];
}
def LogSumExpOp : ReductionFormula<"log_sum_exp"> {
  let summary = "log(sum(exp(x))), shifted by the maximum";
  let category = Full;
  // Not exp(x - y): a y that was rounded to 16 bits is no exponent.
  let grad = [{dy * exp(x - logSumExp(x, getAxes()))}];
  let expansion = [{logSumExp(x, getAxes())}];
}

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
  let category = Full;
  let kind = "Add";
  let grad = [{broadcast(dy, x)}];
}
// Ties share the adjoint evenly (PyTorch's amax); the count is a sum, hence never 16 bits wide.
def MaxOp : Reduction<"max"> {
  let category = Widest;
  let kind = "Max";
  let grad = [{extremumGradient(x, y, dy, getAxes())}];
}
def MinOp : Reduction<"min"> {
  let category = Widest;
  let kind = "Min";
  let grad = [{extremumGradient(x, y, dy, getAxes())}];
}
def MeanOp : Composite<"mean", (ins AnyStaticShapeTensor:$x), (ins DenseI64ArrayAttr:$axes)> {
  let category = Widest;
  let shape = [{e.reduce(x, adaptor.getAxes())}];
  let grad = [{broadcast(dy / elementCount(x, getAxes()), x)}];
  let expansion = [{sum(x, getAxes()) / elementCount(x, getAxes())}];
}

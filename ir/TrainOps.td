//===- TrainOps.td - The train dialect ------------------------------------===//

include "ir/ElementwiseOps.td"
include "ir/ActivationOps.td"
include "ir/ReductionOps.td"
include "ir/ContractionOps.td"
include "ir/ConvolutionOps.td"
include "ir/MovementOps.td"
include "ir/NormalisationOps.td"
include "ir/LossOps.td"
include "ir/RandomOps.td"
include "ir/WindowOps.td"

def AdjointOp : Op<Train_Dialect, "adjoint", [Pure, NotDifferentiable]> {
  let summary = "the adjoint of a primal value, from the contributions of its uses";
  let description = [{
    `train.adjoint(%r1, ..., %rn) of %x`: every contribution is summed over the axes along which %x
    was broadcast, then all are added in reverse program order, in f32 (f64 for f64), and the sum is
    rounded once, to the type of %x or, for a weight, to the type that the precision mode gives.
    Autodiff emits it; once types are known the precision phase expands it. It is what makes
    gradient-then-precision equal to casts-first.
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$contributions,
                       AnyStaticShapeTensor:$primal);
  let results = (outs AnyStaticShapeTensor:$dx);
  let assemblyFormat = "`(` $contributions `)` `of` $primal attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

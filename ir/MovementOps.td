//===- MovementOps.td - The same numbers in another place -----------------===//

include "ir/OpBase.td"

def ReshapeOp : Train_Op<"reshape", (ins AnyStaticShapeTensor:$x), (ins DenseI64ArrayAttr:$sizes)> {
  let category = Widest;
  let shape = [{e.reshape(x, adaptor.getSizes())}];
  let grad = [{reshape(dy, x)}];
  let hasFolder = 1;
}
def TransposeOp : Train_Op<"transpose", (ins AnyStaticShapeTensor:$x),
                           (ins DenseI64ArrayAttr:$permutation)> {
  let summary = "dimension i of the result is dimension permutation[i] of the operand";
  let category = Widest;
  let shape = [{e.transpose(x, adaptor.getPermutation())}];
  let grad = [{transpose(dy, inverse(getPermutation()))}];
  let hasFolder = 1;
}
// The adjoint of an operand that was broadcast is summed by the autodiff driver, as everywhere.
def BroadcastOp : Train_Op<"broadcast", (ins AnyStaticShapeTensor:$x),
                           (ins DenseI64ArrayAttr:$sizes)> {
  let summary = "numpy-style: size-1 and missing leading dimensions are repeated";
  let category = Widest;
  let shape = [{e.broadcast(x, adaptor.getSizes())}];
  let grad = [{dy}];
  let hasFolder = 1;
}

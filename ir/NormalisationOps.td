//===- NormalisationOps.td - Softmax and its logarithm --------------------===//
//
// Kept whole until precision is assigned: their parts are delicate, the whole is not.
//
//===----------------------------------------------------------------------===//

include "ir/OpBase.td"

class Softmax<string mnemonic>
    : Composite<mnemonic, (ins AnyStaticShapeTensor:$x), (ins I64Attr:$axis)> {
  let category = Full;
  let shape = [{e.axis(x, adaptor.getAxis())}];
}

def SoftmaxOp : Softmax<"softmax"> {
  let grad = [{y * (dy - sum(dy * y, {int64_t(getAxis())}))}];
  let expansion = [{softmax(x, getAxis())}];
}
def LogSoftmaxOp : Softmax<"log_softmax"> {
  let grad = [{dy - exp(y) * sum(dy, {int64_t(getAxis())})}];
  let expansion = [{logSoftmax(x, getAxis())}];
}

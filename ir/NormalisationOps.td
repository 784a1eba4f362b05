//===- NormalisationOps.td - Softmax, its logarithm, norms ----------------===//
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
  let summary = "the share of exp(x) in its sum along `axis`, shifted by the maximum";
  let grad = [{y * (dy - sum(dy * y, {int64_t(getAxis())}))}];
  let expansion = [{softmax(x, getAxis())}];
}
def LogSoftmaxOp : Softmax<"log_softmax"> {
  let summary = "the logarithm of softmax along `axis`";
  let grad = [{dy - exp(y) * sum(dy, {int64_t(getAxis())})}];
  let expansion = [{logSoftmax(x, getAxis())}];
}

// Scale and bias belong to the op: it rounds once, and they are f32 in every mode that has f32.
// `scale` and `bias` broadcast to `x`; where a model has none they are the constants 1 and 0.
class Norm<string mnemonic, dag operands_>
    : Composite<mnemonic, operands_, (ins DenseI64ArrayAttr:$axes, F64Attr:$epsilon)> {
  let category = Full;
}

def NormaliseOp : Norm<"normalise", (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$scale,
                                         AnyStaticShapeTensor:$bias)> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias";
  let description = [{
    Mean and variance are those of `x` over `axes`; the variance is the mean of (x - mean)^2, not of
    x^2 less something. Layer, group and instance normalisation are this op over other axes.
  }];
  let shape = [{e.norm(x, {scale, bias}, adaptor.getAxes())}];
}
def RmsNormaliseOp : Norm<"rms_normalise", (ins AnyStaticShapeTensor:$x,
                                                AnyStaticShapeTensor:$scale)> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale";
  let shape = [{e.norm(x, {scale}, adaptor.getAxes())}];
}

// Elementwise: what it normalises with is given.
def BatchNormOp : Elementwise<"batch_norm", (ins AnyStaticShapeTensor:$x,
      AnyStaticShapeTensor:$scale, AnyStaticShapeTensor:$bias, AnyStaticShapeTensor:$mean,
      AnyStaticShapeTensor:$variance), (ins F64Attr:$epsilon)> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias";
  let category = Mixed;
  let shape = [{e.norm(x, {scale, bias, mean, variance}, {})}];
  let grad = [{dy * (scale / sqrt(variance + epsilon)),
               dy * ((x - mean) / sqrt(variance + epsilon)), dy,
               -dy * (scale / sqrt(variance + epsilon)),
               -0.5 * dy * scale * (x - mean) / ((variance + epsilon) * sqrt(variance + epsilon))}];
  let body = [{(x - mean) / sqrt(variance + epsilon) * scale + bias}];
}

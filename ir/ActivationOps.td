//===- ActivationOps.td - Elementwise functions with parameters -----------===//
//
// Values at the edges (bounds, NaN) are PyTorch's.
//
//===----------------------------------------------------------------------===//

include "ir/OpBase.td"

class Activation<string mnemonic, dag attributes_ = (ins)>
    : Elementwise<mnemonic, (ins AnyStaticShapeTensor:$x), attributes_> {
  let shape = [{e.same(x)}];
}

// A number that is out of bounds is the bound: the upper one, where they are the wrong way round.
def ClipOp : Elementwise<"clip", (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$low,
                                      AnyStaticShapeTensor:$high)> {
  let shape = [{e.broadcast({x, low, high})}];
  let grad = [{select(logicalOr(x < low, x > high), constant(dy, 0.0), dy),
               select(logicalAnd(x < low, low < high), dy, constant(dy, 0.0)),
               select(logicalOr(x > high, high < low), dy, constant(dy, 0.0))}];
  let body = [{minimum(maximum(x, low), high)}];
}

// ELU, SELU and CELU, with the parameters of PyTorch's kernel of all three.
def EluOp : Activation<"elu", (ins F64Attr:$alpha, F64Attr:$scale, F64Attr:$inputScale)> {
  let summary = "scale x above 0, scale alpha (exp(inputScale x) - 1) elsewhere";
  let grad = [{dy * select(x > 0.0, constant(x, scale),
                           scale * alpha * inputScale * exp(inputScale * x))}];
  let body = [{scale * select(x > 0.0, x, alpha * expm1(inputScale * x))}];
}
// At 0 the derivative is the slope.
def LeakyReluOp : Elementwise<"leaky_relu", (ins AnyStaticShapeTensor:$x,
                                                 AnyStaticShapeTensor:$slope)> {
  let shape = [{e.broadcast({x, slope})}];
  let grad = [{select(x > 0.0, dy, dy * slope), select(x > 0.0, constant(dy, 0.0), dy * x)}];
  let body = [{select(x > 0.0, x, slope * x)}];
}
def HardSigmoidOp : Activation<"hard_sigmoid", (ins F64Attr:$alpha, F64Attr:$beta)> {
  let summary = "alpha x + beta, at least 0 and at most 1";
  let grad = [{select(logicalAnd(alpha * x + beta > 0.0, alpha * x + beta < 1.0), alpha * dy,
                      constant(dy, 0.0))}];
  let body = [{minimum(maximum(alpha * x + beta, constant(x, 0.0)), constant(x, 1.0))}];
}
def HardSwishOp : Activation<"hard_swish"> {
  let summary = "x times (x + 3) / 6, the latter at least 0 and at most 1";
  let grad = [{select(x <= -3.0, constant(dy, 0.0), select(x >= 3.0, dy, dy * (x / 3.0 + 0.5)))}];
  let body = [{x * minimum(maximum(x + 3.0, constant(x, 0.0)), constant(x, 6.0)) / 6.0}];
}
// PyTorch's hard shrinkage has no bias, its soft one a bias of `bound`. NaN stays.
def ShrinkOp : Activation<"shrink", (ins F64Attr:$bound, F64Attr:$bias)> {
  let summary = "0 from -bound to bound, x + bias below, x - bias above";
  let grad = [{select(logicalAnd(x >= -bound, x <= bound), constant(dy, 0.0), dy)}];
  let body = [{select(logicalAnd(x >= -bound, x <= bound), constant(x, 0.0),
                      select(x < -bound, x + bias, x - bias))}];
}
def SwishOp : Activation<"swish", (ins F64Attr:$alpha)> {
  let summary = "x sigmoid(alpha x)";
  let grad = [{dy * sigmoid(alpha * x) * (1.0 + alpha * x * sigmoid(-(alpha * x)))}];
  let body = [{x * sigmoid(alpha * x)}];
}
def GeluOp : Activation<"gelu"> {
  let summary = "x times the normal distribution function";
  let grad = [{dy * (0.5 * (1.0 + erf(x * M_SQRT1_2)) +
                     x * (0.5 * M_SQRT1_2 * M_2_SQRTPI * exp(-0.5 * (x * x))))}];
  let body = [{0.5 * x * (1.0 + erf(x * M_SQRT1_2))}];
}
// 1/2 (1 + tanh u) = sigmoid(2 u), here with u = sqrt(2 / pi) (x + 0.044715 x^3).
def GeluTanhOp : Activation<"gelu_tanh"> {
  let summary = "GELU with an approximation of the distribution function";
  let grad = [{dy * sigmoid(M_SQRT1_2 * M_2_SQRTPI * (2.0 * x + 0.08943 * (x * x * x))) *
               (1.0 + x * sigmoid(-(M_SQRT1_2 * M_2_SQRTPI * (2.0 * x + 0.08943 * (x * x * x)))) *
                          (M_SQRT1_2 * M_2_SQRTPI * (2.0 + 0.26829 * (x * x))))}];
  let body = [{x * sigmoid(M_SQRT1_2 * M_2_SQRTPI * (2.0 * x + 0.08943 * (x * x * x)))}];
}
def SoftplusOp : Activation<"softplus"> {
  let summary = "log(1 + exp(x))";
  let category = Full;
  let grad = [{dy * sigmoid(x)}];
  let body = [{softplus(x)}];
}
def MishOp : Activation<"mish"> {
  let summary = "x tanh(softplus(x))";
  let grad = [{dy * (tanh(softplus(x)) +
                     x * sigmoid(x) * (1.0 - tanh(softplus(x)) * tanh(softplus(x))))}];
  let body = [{x * tanh(softplus(x))}];
}
def SoftsignOp : Activation<"softsign"> {
  let grad = [{dy / ((1.0 + abs(x)) * (1.0 + abs(x)))}];
  let body = [{x / (1.0 + abs(x))}];
}

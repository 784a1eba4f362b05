//===- ConvolutionOps.td - Convolution and its adjoints -------------------===//
//
// x is [batch, channels, sizes...] with one to three spatial dimensions, w is [output channels,
// channels of a group, kernel...]; the order is logical until `assign-layout`, which may make the
// second dimension of all tensors of an op the last one: `channelsLast`.
// `pads` holds what is padded in front of every spatial dimension, then what is padded behind.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_CONVOLUTION_OPS
#define HALFSTEP_IR_CONVOLUTION_OPS

include "ir/OpBase.td"

class Convolution<string mnemonic, dag operands_, dag attributes_, bit differentiable>
    : Train_Op<mnemonic, operands_,
               !con(attributes_, (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                                      DenseI64ArrayAttr:$pads, I64Attr:$groups,
                                      UnitAttr:$channelsLast)),
               differentiable, [OwnEntry]> {
  let category = Low;
}

def ConvOp : Convolution<"conv", (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$w), (ins), 1> {
  let summary = "cross-correlation of x with the filters w, in groups of channels";
  let description = [{
    y[n, o, p] = sum over c and k of w[o, c, k] x[n, c of o's group, p stride + k dilation - pad],
    with zeros outside of x. Accumulates in f32 (f64 for f64) and rounds once. A bias is an addition
    behind it. The rule is in ir/ConvolutionOps.cpp.
  }];
  let shape = [{e.convolution(x, w, slidingOf(adaptor), adaptor.getGroups())}];
}
def ConvInputGradientOp
    : Convolution<"conv_input_gradient", (ins AnyStaticShapeTensor:$dy, AnyStaticShapeTensor:$w),
                  (ins DenseI64ArrayAttr:$sizes), 0> {
  let summary = "the adjoint of x, whose spatial sizes are `sizes`";
  let shape = [{e.convolutionInput(dy, w, adaptor.getSizes(), slidingOf(adaptor),
                                   adaptor.getGroups())}];
}
def ConvWeightGradientOp
    : Convolution<"conv_weight_gradient", (ins AnyStaticShapeTensor:$dy, AnyStaticShapeTensor:$x),
                  (ins DenseI64ArrayAttr:$kernel), 0> {
  let summary = "the adjoint of w, whose spatial sizes are `kernel`";
  let shape = [{e.convolutionWeight(dy, x, adaptor.getKernel(), slidingOf(adaptor),
                                    adaptor.getGroups())}];
}

#endif

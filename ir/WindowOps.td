//===- WindowOps.td - Pooling ---------------------------------------------===//
//
// A window of `kernel` points slides over the spatial dimensions of x, [batch, channels, sizes...].
// `pads` holds what is padded in front of every spatial dimension, then what is padded behind: as
// much as it takes for the number of windows that the model asks for. Padding takes no part.
// `channelsLast` as in ConvolutionOps.td. Global pooling is a window as large as x, or a mean.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_WINDOW_OPS
#define HALFSTEP_IR_WINDOW_OPS

include "ir/OpBase.td"

class Pool<string mnemonic, dag operands_, dag attributes_, bit differentiable>
    : Train_Op<mnemonic, operands_,
               !con((ins DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                         DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads), attributes_,
                    (ins UnitAttr:$channelsLast)),
               differentiable, [OwnEntry]> {
  let category = Widest;
}

def MaxPoolOp : Pool<"max_pool", (ins AnyStaticShapeTensor:$x), (ins), 1> {
  let summary = "the largest number under a window; NaN if there is one";
  let shape = [{e.pool(x, adaptor.getKernel(), slidingOf(adaptor))}];
}
def MaxPoolGradientOp
    : Pool<"max_pool_gradient", (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$dy), (ins), 0> {
  let summary = "dy at the first of the largest numbers under each window, as PyTorch has it";
  let shape = [{e.poolInput(dy, spatialSizes(x, adaptor.getChannelsLast()), adaptor.getKernel(),
                            slidingOf(adaptor))}];
}

// The divisor of a window is the number of its points in x or in the padding that counts: none, or
// (count_include_pad) all but what only completes the last window.
def AveragePoolOp : Pool<"average_pool", (ins AnyStaticShapeTensor:$x),
                         (ins DenseI64ArrayAttr:$countedPads), 1> {
  let summary = "the mean under a window, of x and of the zeros in `countedPads`";
  let shape = [{e.averagePool(x, adaptor.getKernel(), slidingOf(adaptor),
                              adaptor.getCountedPads())}];
}
def AveragePoolGradientOp
    : Pool<"average_pool_gradient", (ins AnyStaticShapeTensor:$dy),
           (ins DenseI64ArrayAttr:$countedPads, DenseI64ArrayAttr:$sizes), 0> {
  let summary = "the adjoint of x, whose spatial sizes are `sizes`";
  let shape = [{e.poolInput(dy, adaptor.getSizes(), adaptor.getKernel(), slidingOf(adaptor))}];
}

#endif

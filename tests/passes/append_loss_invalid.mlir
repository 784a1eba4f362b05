// An output without a row for each sample has no labels of their own.
// RUN: halfstep-opt %s --append-loss=loss=mse --verify-diagnostics
// RUN: halfstep-opt %s --append-loss=loss=mean | FileCheck %s

// A loss that needs no label has none to be short of.
// CHECK-LABEL: func.func @micro

func.func @forward(%x: tensor<4x3xf32> {train.input = "x"},
                   %w: tensor<3xf32> {train.parameter = "w", train.trainable})
    -> (tensor<8x3xf32> {train.output = "y"}) {
  %h = train.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // expected-error @below {{makes the model's output 'tensor<8x3xf32>', and so the label 'tensor<8x3xf32>': its leading dimension is not the batch, 4, so that samples have no labels of their own}}
  // expected-note @below {{help: keep the batch as the first dimension of the output; an op along that dimension (a Concat, a Reshape) changes it}}
  %y = train.concat %h, %h {axis = 0 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

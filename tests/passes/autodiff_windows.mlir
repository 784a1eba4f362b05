// The adjoints of convolution and pooling carry the window of their primal; what no parameter
// reaches has none.
// RUN: halfstep-opt %s --autodiff | FileCheck %s

// CHECK-LABEL: func.func @micro
// CHECK: %[[H:.*]] = train.conv %arg0, %arg1
// CHECK: %[[P:.*]] = train.max_pool %[[H]]
// CHECK: %[[A:.*]] = train.average_pool %[[P]]
// CHECK: %[[G:.*]] = train.conv %[[A]], %arg2
// CHECK: %[[DG:.*]] = train.adjoint({{.*}}) of %[[G]]
// CHECK: %[[IG:.*]] = train.conv_input_gradient %[[DG]], %arg2 {dilations = array<i64: 1, 1>, groups = 2 : i64, pads = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 2>, strides = array<i64: 1, 1>}
// CHECK: %[[WG:.*]] = train.conv_weight_gradient %[[DG]], %[[A]] {{.*}}kernel = array<i64: 1, 1>
// CHECK: %[[DA:.*]] = train.adjoint(%[[IG]]) of %[[A]]
// CHECK: %[[AG:.*]] = train.average_pool_gradient %[[DA]] {countedPads = array<i64: 1, 0, 0, 0>, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 1, 0, 0, 0>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 2>}
// CHECK: %[[DP:.*]] = train.adjoint(%[[AG]]) of %[[P]]
// CHECK: %[[PG:.*]] = train.max_pool_gradient %[[H]], %[[DP]] {{.*}}kernel = array<i64: 2, 2>
// CHECK: %[[DH:.*]] = train.adjoint(%[[PG]]) of %[[H]]
// CHECK-NOT: train.conv_input_gradient
// CHECK: train.conv_weight_gradient %[[DH]], %arg0 {dilations = array<i64: 1, 2>, groups = 2 : i64, kernel = array<i64: 3, 2>, pads = array<i64: 1, 0, 1, 3>, strides = array<i64: 2, 1>}
func.func @micro(%x: tensor<2x4x9x8xf32> {train.input = "x"},
                 %w: tensor<6x2x3x2xf32> {train.parameter = "w", train.trainable},
                 %v: tensor<2x3x1x1xf32> {train.parameter = "v", train.trainable})
    -> (tensor<f32> {train.metric = "loss"}) {
  %h = train.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>,
                          pads = array<i64: 1, 0, 1, 3>, groups = 2 : i64}
      : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x5x9xf32>
  %p = train.max_pool %h {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>,
                          dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<2x6x5x9xf32>) -> tensor<2x6x2x4xf32>
  %a = train.average_pool %p {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>,
                              dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 0>,
                              countedPads = array<i64: 1, 0, 0, 0>}
      : (tensor<2x6x2x4xf32>) -> tensor<2x6x2x2xf32>
  %g = train.conv %a, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
                          pads = array<i64: 0, 0, 0, 0>, groups = 2 : i64}
      : (tensor<2x6x2x2xf32>, tensor<2x3x1x1xf32>) -> tensor<2x2x2x2xf32>
  %s = train.sum %g {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x2x2x2xf32>) -> tensor<1x1x1x1xf32>
  %loss = train.reshape %s {sizes = array<i64>} : (tensor<1x1x1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

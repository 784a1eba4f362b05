// The loss stands in place of the outputs; only @evaluate has metrics; the label is behind the
// inputs and says which class ids it may hold.
// RUN: halfstep-opt %s --append-loss=loss=cross-entropy:label_smoothing=0.1 | FileCheck %s
// RUN: halfstep-opt %s --append-loss=loss=mean | FileCheck %s --check-prefix=MEAN
// RUN: not halfstep-opt %s --append-loss=loss=crossentropy 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not halfstep-opt %s --append-loss=loss=mse:alpha=1 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not halfstep-opt %s --append-loss=loss=cross-entropy:axis=2 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not halfstep-opt %s --append-loss=loss=output 2>&1 | FileCheck %s --check-prefix=OUTPUT

// CHECK-LABEL: func.func @forward
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[LABEL:[^:]+]]: tensor<4xi64> {train.class_count = 3 : i64, train.label}
// CHECK-SAME: -> (tensor<f32> {train.metric = "loss"})
// CHECK: train.cross_entropy %{{.*}}, %[[LABEL]] {axis = 1 : i64, labelSmoothing = 1.000000e-01 : f64, reduction = 0 : i32}
// CHECK-LABEL: func.func @evaluate
// CHECK-SAME: -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "accuracy"})
// CHECK: train.accuracy %{{.*}}, %{{.*}} {axis = 1 : i64}

// MEAN-LABEL: func.func @micro
// MEAN-NOT: train.label
// MEAN: train.mean_loss
// MEAN: return %{{.*}} : tensor<f32>

// NAME: error: --loss: unknown loss 'crossentropy'
// NAME-SAME: cross-entropy
// KEY: error: --loss:
// KEY-SAME: alpha
// AXIS: axis must be a dimension of the output, which has 2
// OUTPUT: needs a model whose output is one number
func.func @forward(%x: tensor<4x3xf32> {train.input = "x"},
                   %w: tensor<3xf32> {train.parameter = "w", train.trainable})
    -> (tensor<4x3xf32> {train.output = "y"}) {
  %y = train.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

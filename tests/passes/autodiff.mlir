// Reverse mode: every active value gets one adjoint of all its contributions, in reverse program
// order; inputs, frozen parameters and class ids get none, and nothing dead is left.
// RUN: halfstep-opt %s --split-input-file --autodiff | FileCheck %s

// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x3xf32> {train.input = "x"}
// CHECK-SAME: %[[W:[^:]+]]: tensor<3x2xf32>
// CHECK-SAME: %[[B:[^:]+]]: tensor<2xf32>
// CHECK-SAME: %[[SEED:[^:]+]]: tensor<f32> {train.seed}
// CHECK-SAME: tensor<3x2xf32> {train.gradient = "w"}, tensor<2xf32> {train.gradient = "b"})
module {
  func.func @micro(%x: tensor<4x3xf32> {train.input = "x"},
                   %w: tensor<3x2xf32> {train.parameter = "w", train.trainable},
                   %b: tensor<2xf32> {train.parameter = "b", train.trainable},
                   %f: tensor<2xf32> {train.parameter = "frozen"})
      -> (tensor<f32> {train.metric = "loss"}) {
    // CHECK: %[[H:.*]] = train.matmul %[[X]], %[[W]]
    %h = train.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %s = train.add %h, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    // %s is used twice.
    // CHECK: %[[T:.*]] = train.tanh
    %t = train.tanh %s : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %p = train.mul %t, %s : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %q = train.mul %p, %f : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    %l = train.mse_loss %q, %h {reduction = 1 : i32}
        : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<f32>
    // CHECK: train.adjoint(%[[SEED]]) of
    // CHECK: train.map(%[[T]],
    // CHECK: %[[DS:.*]] = train.adjoint(%[[R1:.*]], %[[R2:.*]]) of
    // %h reaches the loss through the sum and as the target.
    // CHECK: %[[DH:.*]] = train.adjoint(%{{.*}}, %[[DS]]) of %[[H]]
    // CHECK-NOT: train.matmul %[[DH]]
    // CHECK: %[[DW:.*]] = train.matmul %[[X]], %[[DH]] {transA = true}
    // CHECK: %[[GW:.*]] = train.adjoint(%[[DW]]) of %[[W]]
    // CHECK: %[[GB:.*]] = train.adjoint(%[[DS]]) of %[[B]]
    // CHECK: return %{{.*}}, %[[GW]], %[[GB]]
    return %l : tensor<f32>
  }
}

// -----

// A parameter that does not reach the loss is not trained, as in PyTorch.
// CHECK-LABEL: func.func @micro
// CHECK-SAME: {train.parameter = "unused"}
// CHECK-SAME: -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.gradient = "w"})
module {
  func.func @micro(%u: tensor<2xf32> {train.parameter = "unused", train.trainable},
                   %w: tensor<f32> {train.parameter = "w", train.trainable})
      -> (tensor<f32> {train.metric = "loss"}) {
    %l = train.exp %w : (tensor<f32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}

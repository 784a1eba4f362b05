// A layer norm is Full: f32 from its operands to its result. Batch and instance norms are Mixed: f32
// inside and beside x, the result in the type of x. In either case scale, bias and statistics are
// full parameters, without a 16-bit copy, and half-grad keeps their gradients in f32.
// RUN: halfstep-opt %s --assign-precision=mode=half-grad --cse | FileCheck %s

// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[S:[^:]+]]: tensor<8xf32> {train.parameter = "s", train.trainable}
// CHECK-SAME: %[[M:[^:]+]]: tensor<8xf32> {train.parameter = "m"}
// CHECK: %[[H:.*]] = train.matmul {{.*}} -> tensor<4x8xf16>
// CHECK: %[[X:.*]] = train.cast %[[H]] to f32
// CHECK: %[[L:.*]] = train.normalise %[[X]], %[[S]], %[[S]] {{.*}}train.reason = "category"} : {{.*}} -> tensor<4x8xf32>
// CHECK: train.relu %[[L]] {{.*}} (tensor<4x8xf32>)
// CHECK: %[[I:.*]] = train.normalise %[[X]], %[[S]], %[[S]] {{.*}} -> tensor<4x8xf32>
// CHECK: %[[NARROW:.*]] = train.cast %[[I]] to f16
// CHECK: train.relu %[[NARROW]] {{.*}} (tensor<4x8xf16>)
// CHECK: %[[B:.*]] = train.batch_norm %[[X]], %[[S]], %[[S]], %[[M]], %[[M]] {{.*}} -> tensor<4x8xf32>
// CHECK: %[[NARROW_B:.*]] = train.cast %[[B]] to f16
// CHECK: train.relu %[[NARROW_B]] {{.*}} (tensor<4x8xf16>)
// CHECK: train.adjoint(%{{.*}}) of %[[S]] {{.*}} -> tensor<8xf32>
func.func @micro(%x: tensor<4x8xf32> {train.input = "x"},
                 %w: tensor<8x8xf32> {train.parameter = "w", train.trainable},
                 %s: tensor<8xf32> {train.parameter = "s", train.trainable},
                 %m: tensor<8xf32> {train.parameter = "m"})
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32> {train.gradient = "s"}) {
  %h = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %l = train.normalise %h, %s, %s {axes = array<i64: 1>, epsilon = 1.0e-5}
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = train.relu %l : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %i = train.normalise %h, %s, %s {axes = array<i64: 1>, epsilon = 1.0e-5, train.category = 4 : i32}
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = train.relu %i : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = train.batch_norm %h, %s, %s, %m, %m {epsilon = 1.0e-5}
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> tensor<4x8xf32>
  %2 = train.relu %b : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = train.sum %l {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %r = train.reshape %c {sizes = array<i64: 8>} : (tensor<1x8xf32>) -> tensor<8xf32>
  %g = train.adjoint(%r) of %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %2, %g : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>
}

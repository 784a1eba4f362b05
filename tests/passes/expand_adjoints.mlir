// Contributions are summed over broadcast axes, added in order, in f32, and rounded once.
// RUN: halfstep-opt %s --expand-adjoints | FileCheck %s

// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: %[[A:[^:]+]]: tensor<4x8xf32>, %[[B:[^:]+]]: tensor<8xf32>, %[[X:[^:]+]]: tensor<8xf32>
func.func @broadcast(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[S:.*]] = train.sum %[[A]] {axes = array<i64: 0>}
  // CHECK: %[[R:.*]] = train.reshape %[[S]] {sizes = array<i64: 8>}
  // CHECK: %[[T:.*]] = train.add %[[R]], %[[B]]
  // CHECK: return %[[T]]
  %dx = train.adjoint(%a, %b) of %x
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %dx : tensor<8xf32>
}

// CHECK-LABEL: func.func @half
func.func @half(%a: tensor<8xf16>, %b: tensor<8xf16>, %x: tensor<8xf16>) -> tensor<8xf16> {
  // CHECK: train.cast %{{.*}} to f32
  // CHECK: train.cast %{{.*}} to f32
  // CHECK: train.add %{{.*}} -> tensor<8xf32>
  // CHECK: train.cast %{{.*}} to f16
  %dx = train.adjoint(%a, %b) of %x : (tensor<8xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %dx : tensor<8xf16>
}

// CHECK-LABEL: func.func @alone
// CHECK-SAME: %[[A:[^:]+]]: tensor<8xf32>, %
func.func @alone(%a: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[A]]
  %dx = train.adjoint(%a) of %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %dx : tensor<8xf32>
}

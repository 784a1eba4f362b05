// Softmax is shifted by its maximum; what cross-entropy and its adjoint share is one value after CSE.
// RUN: halfstep-opt %s --expand-composites --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK: %[[M:.*]] = train.max %[[X:.*]] {axes = array<i64: 1>}
// CHECK: %[[D:.*]] = train.sub %[[X]], %[[M]]
// CHECK: %[[E:.*]] = train.exp %[[D]]
// CHECK: %[[S:.*]] = train.sum %[[E]] {axes = array<i64: 1>}
// CHECK: train.div %[[E]], %[[S]]
func.func @softmax(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %y = train.softmax %x {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @shared
// CHECK-COUNT-1: train.exp
// CHECK-NOT: train.exp
func.func @shared(%x: tensor<4x3xf32>, %label: tensor<4xi64>) -> (tensor<f32>, tensor<4x3xf32>) {
  %l = train.cross_entropy %x, %label {axis = 1 : i64, reduction = 0 : i32}
      : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  %p = train.softmax %x {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %l, %p : tensor<f32>, tensor<4x3xf32>
}

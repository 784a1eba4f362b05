// Only @micro drops: elsewhere a dropout is its operand and a mask is true.
// RUN: halfstep-opt %s --evaluation-mode --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @forward(%arg0: tensor<4x8xf32>
// CHECK-NEXT: %[[ALL:.*]] = arith.constant dense<true> : tensor<4x8xi1>
// CHECK-NEXT: return %arg0, %[[ALL]]
func.func @forward(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
  %bits = train.random_bits 0 in [4, 8] : tensor<4x8xi32>
  %y = train.dropout %x, %bits {ratio = 0.5 : f64} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
  %mask = train.dropout_mask %bits {ratio = 0.5 : f64} : (tensor<4x8xi32>) -> tensor<4x8xi1>
  return %y, %mask : tensor<4x8xf32>, tensor<4x8xi1>
}

// CHECK-LABEL: func.func @micro
// CHECK: train.random_bits 0 in [4, 8]
// CHECK: train.dropout
// CHECK: train.dropout_mask
func.func @micro(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
  %bits = train.random_bits 0 in [4, 8] : tensor<4x8xi32>
  %y = train.dropout %x, %bits {ratio = 0.5 : f64} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
  %mask = train.dropout_mask %bits {ratio = 0.5 : f64} : (tensor<4x8xi32>) -> tensor<4x8xi1>
  return %y, %mask : tensor<4x8xf32>, tensor<4x8xi1>
}

// Slices are walks of their readers; what puts parts together is written part by part.
// RUN: halfstep-opt %s --normalise-for-kernels --canonicalize --form-kernels --verify-phase=phase=kernels | FileCheck %s

// Steps multiply strides, offsets add up, also behind a transposition; a reversed walk begins at
// the end.
// CHECK: kernel.group @read_0_add [2, 3](%{{.*}}: f32[2, 24] + 13, %{{.*}}: f32[3, -1] + 2) -> (f32[3, 1])
// CHECK-LABEL: func.func @read
// CHECK-NEXT: table.launch @read_0_add(%arg0, %arg1)
// CHECK-NEXT: return
func.func @read(%x: tensor<6x12xf32>, %z: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = train.slice %x {offsets = array<i64: 1, 1>, strides = array<i64: 2, 1>,
      sizes = array<i64: 3, 11>} : (tensor<6x12xf32>) -> tensor<3x11xf32>
  %b = train.slice %a {offsets = array<i64: 0, 0>, strides = array<i64: 1, 2>,
      sizes = array<i64: 3, 2>} : (tensor<3x11xf32>) -> tensor<3x2xf32>
  %t = train.transpose %b {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %r = train.slice %z {offsets = array<i64: 0, 2>, strides = array<i64: 1, -1>,
      sizes = array<i64: 2, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = train.add %t, %r : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// The producers of the parts write them into the whole: no copy. The second part is read by a
// product too, so that its kernel writes it twice.
// CHECK: kernel.group @join_1_exp_insert [4, 10](%{{.*}}: f32[10, 1]) -> (f32[30, 1])
// CHECK: kernel.group @join_2_tanh_insert [4, 20](%{{.*}}: f32[20, 1], %[[W:.*]]: f32[30, 1] + 10) -> (f32[20, 1], %[[W]])
// CHECK-LABEL: func.func @join
// CHECK-NEXT: %[[A:.*]] = table.launch @join_1_exp_insert(%arg0) : (tensor<4x10xf32>) -> tensor<4x30xf32>
// CHECK-NEXT: %[[B:.*]]:2 = table.launch @join_2_tanh_insert(%arg1, %[[A]]) {updates = array<i64: -1, 1>}
// CHECK-NEXT: %[[P:.*]] = table.launch @join_3_matmul(%[[B]]#0, %[[B]]#0)
// CHECK-NEXT: return %[[B]]#1, %[[P]]
func.func @join(%x: tensor<4x10xf32>, %z: tensor<4x20xf32>) -> (tensor<4x30xf32>, tensor<4x4xf32>) {
  %e = train.exp %x : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %t = train.tanh %z : (tensor<4x20xf32>) -> tensor<4x20xf32>
  %y = train.concat %e, %t {axis = 1 : i64} : (tensor<4x10xf32>, tensor<4x20xf32>) -> tensor<4x30xf32>
  %p = train.matmul %t, %t {transB = true} : (tensor<4x20xf32>, tensor<4x20xf32>) -> tensor<4x4xf32>
  return %y, %p : tensor<4x30xf32>, tensor<4x4xf32>
}

// Parts are written in the order in which they are computed, wherever they lie. A kernel writes one
// part of a whole: the sum that it computes as well follows.
// CHECK: kernel.group @order_4_exp_sum_insert [10](%{{.*}}: f32[1]) -> (f32[0], f32[1] + 1)
// CHECK: kernel.group @order_5_insert [1](%{{.*}}: f32[0], %[[W:.*]]: f32[0]) -> (%[[W]])
func.func @order(%x: tensor<10xf32>) -> tensor<11xf32> {
  %e = train.exp %x : (tensor<10xf32>) -> tensor<10xf32>
  %s = train.sum %e {axes = array<i64: 0>} : (tensor<10xf32>) -> tensor<1xf32>
  %y = train.concat %s, %e {axis = 0 : i64} : (tensor<1xf32>, tensor<10xf32>) -> tensor<11xf32>
  return %y : tensor<11xf32>
}

// CHECK: kernel.group @pad_6_map [6, 8]() -> (f32[8, 1])
// CHECK: kernel.group @pad_7_relu_insert [2, 5](%{{.*}}: f32[5, 1], %[[W:.*]]: f32[24, 1] + 10) -> (%[[W]])
// CHECK-LABEL: func.func @pad
// CHECK-NEXT: %[[F:.*]] = table.launch @pad_6_map()
// CHECK-NEXT: table.launch @pad_7_relu_insert(%arg0, %[[F]]) {updates = array<i64: 1>}
func.func @pad(%x: tensor<2x5xf32>) -> tensor<6x8xf32> {
  %v = arith.constant dense<7.0> : tensor<f32>
  %r = train.relu %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %y = train.pad %r, %v {offsets = array<i64: 1, 2>, strides = array<i64: 3, 1>,
      sizes = array<i64: 6, 8>} : (tensor<2x5xf32>, tensor<f32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// A range of rows is an alias for a product; a range of columns is copied.
// CHECK: kernel.group @product_8_map [6, 4](%{{.*}}: f32[8, 1] + 1) -> (f32[4, 1])
// CHECK-LABEL: func.func @product
// CHECK-NEXT: %[[C:.*]] = table.launch @product_8_map(%arg0)
// CHECK-NEXT: %[[R:.*]] = table.alias %arg0 {offset = 8 : i64} : (tensor<6x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: table.launch @product_9_matmul(%[[C]], %[[R]])
func.func @product(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %c = train.slice %x {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>,
      sizes = array<i64: 6, 4>} : (tensor<6x8xf32>) -> tensor<6x4xf32>
  %r = train.slice %x {offsets = array<i64: 1, 0>, strides = array<i64: 1, 1>,
      sizes = array<i64: 4, 8>} : (tensor<6x8xf32>) -> tensor<4x8xf32>
  %y = train.matmul %c, %r : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

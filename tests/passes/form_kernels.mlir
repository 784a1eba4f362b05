// What is computed together: chains with several uses and results, across row reductions, into
// column reductions; what is not: across a product, behind a column reduction, in a cycle.
// RUN: halfstep-opt %s --form-kernels | FileCheck %s
// RUN: halfstep-opt %s --form-kernels=fuse=false | FileCheck %s --check-prefix=ONE

// A producer with two readers and two results is one kernel.
// CHECK-LABEL: kernel.group @chain_0_add_tanh_mul [4, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 1]) -> (f32[8, 1], f32[8, 1])
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: table.launch @chain_0_add_tanh_mul
// CHECK-NEXT: return
// ONE-LABEL: func.func @chain
// ONE-COUNT-3: table.launch
// ONE-NEXT: return
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = train.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %t = train.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = train.mul %s, %t : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %t, %y : tensor<4x8xf32>, tensor<4x8xf32>
}

// Row-wise softmax: two reductions and the use of both, in one kernel.
// CHECK: kernel.group @softmax_{{.*}} [4, 8](%[[X:.*]]: f32[8, 1]) -> (f32[8, 1])
// CHECK: %[[M:.*]] = kernel.reduce max %[[X]] over last
// CHECK: %[[S:.*]] = kernel.reduce add %{{.*}} over last
// CHECK: arith.divf
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: table.launch
// CHECK-NEXT: return
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = train.max %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = train.sub %x, %m : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %e = train.exp %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = train.sum %e {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %y = train.div %e, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// A bias gradient is summed where its values are made; nothing at the elements can wait for it.
// CHECK: kernel.group @columns_{{.*}} [4, 8](%{{.*}}: f32[8, 1]) -> (f32[8, 1], f32[0, 1])
// CHECK: kernel.reduce add %{{.*}} over rows
// CHECK: kernel.group @columns_{{.*}}_mul [4, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 1]) -> (f32[8, 1])
func.func @columns(%x: tensor<4x8xf32>) -> (tensor<1x8xf32>, tensor<4x8xf32>) {
  %t = train.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = train.sum %t {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %y = train.mul %t, %s : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return %s, %y : tensor<1x8xf32>, tensor<4x8xf32>
}

// Two readers of %a that are connected through a product stay apart: together they would wait for
// themselves.
// CHECK-LABEL: func.func @cycle
// CHECK: %[[E:.*]] = table.launch @cycle_{{.*}}_exp(
// CHECK: %[[P:.*]] = table.launch @cycle_{{.*}}_matmul(%[[E]], %[[E]])
// CHECK: table.launch @cycle_{{.*}}_add(%[[E]], %[[P]])
func.func @cycle(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = train.exp %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = train.matmul %e, %e : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = train.add %e, %p : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// Movement becomes strides; a product of useful size is a library call.
// CHECK: kernel.group @views_{{.*}} [8, 4](%{{.*}}: f32[1, 8], %{{.*}}: f32[0, 0]) -> (f32[4, 1])
// CHECK-LABEL: func.func @views
// CHECK: table.gemm %{{.*}}, %{{.*}} {transB}
func.func @views(%x: tensor<4x8xf32>, %s: tensor<1xf32>, %a: tensor<64x64xf32>)
    -> (tensor<8x4xf32>, tensor<64x64xf32>) {
  %t = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %b = train.broadcast %s {sizes = array<i64: 8, 4>} : (tensor<1xf32>) -> tensor<8x4xf32>
  %y = train.mul %t, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = train.matmul %a, %a {transB = true}
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y, %p : tensor<8x4xf32>, tensor<64x64xf32>
}

// A value that looks like a row of the space but is one of its columns is read from memory.
// CHECK: kernel.group @misaligned_{{.*}}_sum [8, 8]
// CHECK: kernel.group @misaligned_{{.*}}_add [8, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 1]) -> (f32[8, 1])
func.func @misaligned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = train.sum %x {axes = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %r = train.reshape %s {sizes = array<i64: 8>} : (tensor<8x1xf32>) -> tensor<8xf32>
  %y = train.add %x, %r : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Numbers that are known are computed where they are read.
// CHECK: kernel.group @constants_{{.*}} [4](%{{.*}}: f32[1]) -> (f32[1])
// CHECK: arith.mulf %cst{{.*}}, %cst
func.func @constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.constant dense<2.0> : tensor<f32>
  %b = arith.constant dense<3.0> : tensor<f32>
  %c = train.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = train.mul %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

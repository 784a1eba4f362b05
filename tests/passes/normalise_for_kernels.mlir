// Reductions by runs of dimensions, transposed operands as flags, a batch joined to the rows, and
// copies only where strides do not do.
// RUN: halfstep-opt %s --normalise-for-kernels | FileCheck %s

// CHECK-LABEL: func.func @runs
func.func @runs(%x: tensor<2x3x4x1x5xf32>) -> tensor<1x3x1x1x1xf32> {
  // CHECK: %[[S:.*]] = train.sum %{{.*}} {axes = array<i64: 2, 4>} : (tensor<2x3x4x1x5xf32>) -> tensor<2x3x1x1x1xf32>
  // CHECK: train.sum %[[S]] {axes = array<i64: 0>}
  %y = train.sum %x {axes = array<i64: 0, 2, 3, 4>}
      : (tensor<2x3x4x1x5xf32>) -> tensor<1x3x1x1x1xf32>
  return %y : tensor<1x3x1x1x1xf32>
}

// Row by row where a bias repeats; in one run where nothing does, and where rows are short.
// CHECK-LABEL: func.func @biased
func.func @biased(%x: tensor<2x3x16x16xf32>, %b: tensor<3x1x1xf32>) -> tensor<1x1x1x1xf32> {
  // CHECK: train.sum %{{.*}} {axes = array<i64: 2, 3>} : (tensor<2x3x16x16xf32>) -> tensor<2x3x1x1xf32>
  // CHECK: train.sum %{{.*}} {axes = array<i64: 0, 1>} : (tensor<2x3x1x1xf32>)
  %y = train.add %x, %b : (tensor<2x3x16x16xf32>, tensor<3x1x1xf32>) -> tensor<2x3x16x16xf32>
  %z = train.mul %y, %y : (tensor<2x3x16x16xf32>, tensor<2x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  %s = train.sum %z {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x3x16x16xf32>) -> tensor<1x1x1x1xf32>
  return %s : tensor<1x1x1x1xf32>
}

// CHECK-LABEL: func.func @unbiased
func.func @unbiased(%x: tensor<2x3x16x16xf32>) -> tensor<1x1x1x1xf32> {
  // CHECK: train.sum %{{.*}} {axes = array<i64: 0, 1, 2, 3>}
  %z = train.mul %x, %x : (tensor<2x3x16x16xf32>, tensor<2x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  %s = train.sum %z {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x3x16x16xf32>) -> tensor<1x1x1x1xf32>
  return %s : tensor<1x1x1x1xf32>
}

// CHECK-LABEL: func.func @shortRows
func.func @shortRows(%x: tensor<64x8xf32>, %b: tensor<8xf32>) -> tensor<1x1xf32> {
  // CHECK: train.sum %{{.*}} {axes = array<i64: 0, 1>}
  %y = train.add %x, %b : (tensor<64x8xf32>, tensor<8xf32>) -> tensor<64x8xf32>
  %s = train.sum %y {axes = array<i64: 0, 1>} : (tensor<64x8xf32>) -> tensor<1x1xf32>
  return %s : tensor<1x1xf32>
}

// CHECK-LABEL: func.func @identity
// CHECK-SAME: %[[X:[^:]+]]: tensor<1x3xf32>
func.func @identity(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  // CHECK-NEXT: return %[[X]]
  %y = train.max %x {axes = array<i64: 0>} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}

// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[X:[^:]+]]: tensor<6x4x3xf32>, %[[W:[^:]+]]: tensor<2x3xf32>
func.func @product(%x: tensor<6x4x3xf32>, %w: tensor<2x3xf32>) -> tensor<6x4x2xf32> {
  // CHECK: %[[R:.*]] = train.reshape %[[X]] {sizes = array<i64: 24, 3>}
  // CHECK: train.matmul %[[R]], %[[W]] {transB = true} : (tensor<24x3xf32>, tensor<2x3xf32>) -> tensor<24x2xf32>
  %t = train.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %y = train.matmul %x, %t : (tensor<6x4x3xf32>, tensor<3x2xf32>) -> tensor<6x4x2xf32>
  return %y : tensor<6x4x2xf32>
}

// CHECK-LABEL: func.func @copy
func.func @copy(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<3x2xf32>) {
  // CHECK: %[[T:.*]] = train.transpose
  // CHECK: %[[C:.*]] = train.map(%[[T]])
  // CHECK: train.reshape %[[C]]
  // CHECK: train.map(%[[T]])
  %t = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = train.reshape %t {sizes = array<i64: 6>} : (tensor<3x2xf32>) -> tensor<6xf32>
  return %r, %t : tensor<6xf32>, tensor<3x2xf32>
}

// What is computed at many points reads a copy of a scalar that the program updates, and others that
// the program keeps as they are.
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[SCALE:[^:]+]]: tensor<f64> {train.state = "scale"}, %[[RATE:[^:]+]]: tensor<f64>
func.func @update(%scale: tensor<f64> {train.state = "scale"}, %rate: tensor<f64> {train.state = "lr"},
                  %old: tensor<4xf64>)
    -> (tensor<f64> {train.updates = "scale"}, tensor<4xf64>) {
  // CHECK: %[[COPY:.*]] = train.map(%[[SCALE]])
  // CHECK: %[[NEW:.*]] = train.add %[[SCALE]], %[[SCALE]]
  // CHECK: %[[SUM:.*]] = train.add %[[COPY]], %{{.*}}
  // CHECK: %[[ALL:.*]] = train.mul %[[SUM]], %[[RATE]]
  // CHECK: return %[[NEW]], %[[ALL]]
  %new = train.add %scale, %scale : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %sum = train.add %scale, %old : (tensor<f64>, tensor<4xf64>) -> tensor<4xf64>
  %all = train.mul %sum, %rate : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  return %new, %all : tensor<f64>, tensor<4xf64>
}

// A product reads a range of something larger where it begins as what is stored by itself does.
// CHECK-LABEL: func.func @ranges
func.func @ranges(%x: tensor<9x8xf16>, %v: tensor<67xf16>) -> (tensor<8x8xf16>, tensor<8x8xf16>) {
  // CHECK: %[[EVEN:.*]] = train.slice %{{.*}} {offsets = array<i64: 1, 0>
  %even = train.slice %x {offsets = array<i64: 1, 0>, sizes = array<i64: 8, 8>, strides = array<i64: 1, 1>}
      : (tensor<9x8xf16>) -> tensor<8x8xf16>
  // CHECK: %[[ODD:.*]] = train.slice %{{.*}} {offsets = array<i64: 3>
  %odd = train.slice %v {offsets = array<i64: 3>, sizes = array<i64: 64>, strides = array<i64: 1>}
      : (tensor<67xf16>) -> tensor<64xf16>
  %o = train.reshape %odd {sizes = array<i64: 8, 8>} : (tensor<64xf16>) -> tensor<8x8xf16>
  // CHECK: train.matmul %[[EVEN]], %[[EVEN]]
  %y = train.matmul %even, %even : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
  // CHECK: %[[A:.*]] = train.map
  // CHECK: %[[B:.*]] = train.map
  // CHECK: train.matmul %[[A]], %[[B]]
  %z = train.matmul %o, %o : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
  return %y, %z : tensor<8x8xf16>, tensor<8x8xf16>
}

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

// Slices beside each other, with a gap between them and one behind: their adjoints are put
// together, the other contribution is added.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[A:[^:]+]]: tensor<2x3xf32>, %[[B:[^:]+]]: tensor<2x4xf32>, %[[C:[^:]+]]: tensor<2x9xf32>
func.func @parts(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<2x9xf32>, %x: tensor<2x9xf32>)
    -> tensor<2x9xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %pa = train.pad %a, %zero {offsets = array<i64: 0, 5>, strides = array<i64: 1, 1>,
      sizes = array<i64: 2, 9>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x9xf32>
  %pb = train.pad %b, %zero {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>,
      sizes = array<i64: 2, 9>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x9xf32>
  // CHECK: %[[GAP:.*]] = train.broadcast {{.*}} -> tensor<2x1xf32>
  // CHECK: %[[END:.*]] = train.broadcast {{.*}} -> tensor<2x1xf32>
  // CHECK: %[[J:.*]] = train.concat %[[B]], %[[GAP]], %[[A]], %[[END]] {axis = 1 : i64}
  // CHECK: %[[T:.*]] = train.add %[[J]], %[[C]]
  // CHECK: return %[[T]]
  %dx = train.adjoint(%pa, %pb, %c) of %x
      : (tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
  return %dx : tensor<2x9xf32>
}

// Parts that overlap, or that are padded with something else, or every second element: added.
// CHECK-LABEL: func.func @added
// CHECK-NOT: train.concat
func.func @added(%a: tensor<3xf32>, %x: tensor<6xf32>) -> tensor<6xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %0 = train.pad %a, %zero {offsets = array<i64: 0>, strides = array<i64: 1>,
      sizes = array<i64: 6>} : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = train.pad %a, %zero {offsets = array<i64: 2>, strides = array<i64: 1>,
      sizes = array<i64: 6>} : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  %2 = train.pad %a, %one {offsets = array<i64: 3>, strides = array<i64: 1>,
      sizes = array<i64: 6>} : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  %3 = train.pad %a, %zero {offsets = array<i64: 1>, strides = array<i64: 2>,
      sizes = array<i64: 6>} : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  %dx = train.adjoint(%0, %1, %2, %3) of %x : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>,
      tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %dx : tensor<6xf32>
}

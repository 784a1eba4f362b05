// Softmax is shifted by its maximum, a norm centred by a mean without rounding; what forward and
// backward share is one value after CSE, whatever the precision phase said of it.
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

// The second sum corrects the first, the third is the variance; the rest is one formula.
// CHECK-LABEL: func.func @normalise
// CHECK: %[[S:.*]] = train.sum %[[X:.*]] {axes = array<i64: 1>}
// CHECK: %[[FIRST:.*]] = train.div %[[S]]
// CHECK: %[[MOVED:.*]] = train.sub %[[X]], %[[FIRST]]
// CHECK: %[[REST:.*]] = train.sum %[[MOVED]]
// CHECK: %[[MORE:.*]] = train.div %[[REST]]
// CHECK: %[[MEAN:.*]] = train.add %[[FIRST]], %[[MORE]]
// CHECK: %[[D:.*]] = train.sub %[[X]], %[[MEAN]]
// CHECK: %[[SQUARE:.*]] = train.mul %[[D]], %[[D]]
// CHECK: train.sum %[[SQUARE]]
// CHECK: train.sqrt
// CHECK: %[[RSTD:.*]] = train.div
// CHECK: train.map(%[[X]], %[[RSTD]], %[[MEAN]], %{{.*}}, %{{.*}})
// CHECK-NOT: train.sum
// CHECK: train.mul %[[RSTD]], %[[MEAN]]
func.func @normalise(%x: tensor<4x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>)
    -> (tensor<4x3xf32>, tensor<4x1xf32>) {
  %c = arith.constant dense<3.0> : tensor<f32>
  %e = arith.constant dense<1.0e-5> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %y = train.normalise %x, %s, %b {axes = array<i64: 1>, epsilon = 1.0e-5, train.reason = "category"}
      : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // As the adjoint computes them.
  %0 = train.sum %x {axes = array<i64: 1>, train.category = 3 : i32} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %1 = train.div %0, %c {train.category = 3 : i32, train.reason = "category"} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %2 = train.sub %x, %1 {train.category = 3 : i32} : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %3 = train.sum %2 {axes = array<i64: 1>, train.category = 3 : i32} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %4 = train.div %3, %c {train.category = 3 : i32} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %mean = train.add %1, %4 {train.category = 3 : i32} : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = train.sub %x, %mean {train.category = 3 : i32} : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %7 = train.mul %6, %6 {train.category = 3 : i32} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %8 = train.sum %7 {axes = array<i64: 1>, train.category = 3 : i32} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %9 = train.div %8, %c {train.category = 3 : i32} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %10 = train.add %9, %e {train.category = 3 : i32} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %11 = train.sqrt %10 {train.category = 3 : i32} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %rstd = train.div %one, %11 {train.category = 3 : i32} : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %z = train.mul %rstd, %mean : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %y, %z : tensor<4x3xf32>, tensor<4x1xf32>
}

// An infinite maximum is no shift.
// CHECK-LABEL: func.func @log_sum_exp
// CHECK: %[[M:.*]] = train.max %[[X:.*]] {axes = array<i64: 1>}
// CHECK: train.compare eq
// CHECK: %[[SHIFT:.*]] = train.select
// CHECK: train.sub %[[X]], %[[SHIFT]]
// CHECK: train.exp
// CHECK: train.sum
// CHECK: train.log
// CHECK: train.add %{{.*}}, %[[SHIFT]]
func.func @log_sum_exp(%x: tensor<4x3xf32>) -> tensor<4x1xf32> {
  %y = train.log_sum_exp %x {axes = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  return %y : tensor<4x1xf32>
}

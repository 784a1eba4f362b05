// A cast there and back folds where the type between holds every number, and only there.
// RUN: halfstep-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @exact(
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>, %[[Y:.*]]: tensor<4xbf16>, %[[Z:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[Z]]
func.func @exact(%x: tensor<4xf16>, %y: tensor<4xbf16>, %z: tensor<4xf32>)
    -> (tensor<4xf16>, tensor<4xbf16>, tensor<4xf32>) {
  %0 = train.cast %x to f32 : (tensor<4xf16>) -> tensor<4xf32>
  %1 = train.cast %0 to f16 : (tensor<4xf32>) -> tensor<4xf16>
  %2 = train.cast %y to f32 : (tensor<4xbf16>) -> tensor<4xf32>
  %3 = train.cast %2 to bf16 : (tensor<4xf32>) -> tensor<4xbf16>
  %4 = train.cast %z to f64 : (tensor<4xf32>) -> tensor<4xf64>
  %5 = train.cast %4 to f32 : (tensor<4xf64>) -> tensor<4xf32>
  return %1, %3, %5 : tensor<4xf16>, tensor<4xbf16>, tensor<4xf32>
}

// CHECK-LABEL: func.func @rounding(
// CHECK-COUNT-8: train.cast
func.func @rounding(%x: tensor<4xf16>, %y: tensor<4xbf16>, %z: tensor<4xf32>, %i: tensor<4xi32>)
    -> (tensor<4xf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xi32>) {
  %0 = train.cast %x to bf16 : (tensor<4xf16>) -> tensor<4xbf16>
  %1 = train.cast %0 to f16 : (tensor<4xbf16>) -> tensor<4xf16>
  %2 = train.cast %y to f16 : (tensor<4xbf16>) -> tensor<4xf16>
  %3 = train.cast %2 to bf16 : (tensor<4xf16>) -> tensor<4xbf16>
  %4 = train.cast %z to f16 : (tensor<4xf32>) -> tensor<4xf16>
  %5 = train.cast %4 to f32 : (tensor<4xf16>) -> tensor<4xf32>
  %6 = train.cast %i to f32 : (tensor<4xi32>) -> tensor<4xf32>
  %7 = train.cast %6 to i32 : (tensor<4xf32>) -> tensor<4xi32>
  return %1, %3, %5, %7 : tensor<4xf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xi32>
}

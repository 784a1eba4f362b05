// A contraction in a type that the target has no products of works in f32 and is rounded back;
// everything else keeps the types that the mode wished.
// RUN: halfstep-opt %s --legalize-precision=target=sm_75 | FileCheck %s
// RUN: halfstep-opt %s --legalize-precision=target=cpu | FileCheck %s --check-prefix=ABLE
// RUN: not halfstep-opt %s --legalize-precision=target=abacus 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: legalize-precision: unknown target 'abacus'

// CHECK-LABEL: func.func @bf16
// CHECK: %[[X:.*]] = train.cast %{{.*}} to f32
// CHECK: %[[W:.*]] = train.cast %{{.*}} to f32
// CHECK: %[[H:.*]] = train.matmul %[[X]], %[[W]] {train.reason = "target"} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// CHECK: %[[Y:.*]] = train.cast %[[H]] to bf16
// CHECK: train.tanh %[[Y]] {train.reason = "policy"} : (tensor<4x2xbf16>) -> tensor<4x2xbf16>
// ABLE-LABEL: func.func @bf16
// ABLE-NOT: train.cast
// ABLE: train.matmul %{{.*}} {train.reason = "category"} : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
func.func @bf16(%x: tensor<4x8xbf16>, %w: tensor<8x2xbf16>) -> tensor<4x2xbf16> {
  %h = train.matmul %x, %w {train.reason = "category"}
      : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %y = train.tanh %h {train.reason = "policy"} : (tensor<4x2xbf16>) -> tensor<4x2xbf16>
  return %y : tensor<4x2xbf16>
}

// CHECK-LABEL: func.func @f16
// CHECK-NOT: train.cast
// CHECK: train.matmul %{{.*}} {train.reason = "category"} : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
func.func @f16(%x: tensor<4x8xf16>, %w: tensor<8x2xf16>) -> tensor<4x2xf16> {
  %h = train.matmul %x, %w {train.reason = "category"}
      : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  return %h : tensor<4x2xf16>
}

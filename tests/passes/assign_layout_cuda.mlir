// For CUDA, channels come last where tensor cores multiply: 16-bit numbers, in whole groups of eight.
// RUN: halfstep-opt %s --assign-layout=target=sm_80 | FileCheck %s

// CHECK-LABEL: func.func @half
// CHECK: train.conv {{.*}} {channelsLast,
// CHECK-LABEL: func.func @odd
// CHECK-NOT: channelsLast
// CHECK-LABEL: func.func @single
// CHECK-NOT: channelsLast
func.func @half(%x: tensor<8x64x14x14xf16>, %w: tensor<64x64x3x3xf16>) -> tensor<8x64x14x14xf16> {
  %y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<8x64x14x14xf16>, tensor<64x64x3x3xf16>) -> tensor<8x64x14x14xf16>
  return %y : tensor<8x64x14x14xf16>
}
func.func @odd(%x: tensor<8x60x14x14xf16>, %w: tensor<64x60x3x3xf16>) -> tensor<8x64x14x14xf16> {
  %y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<8x60x14x14xf16>, tensor<64x60x3x3xf16>) -> tensor<8x64x14x14xf16>
  return %y : tensor<8x64x14x14xf16>
}

func.func @single(%x: tensor<8x64x14x14xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<8x64x14x14xf32> {
  %y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<8x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<8x64x14x14xf32>
  return %y : tensor<8x64x14x14xf32>
}

// What a convolution with its loss and gradient may not be.
// RUN: halfstep-opt %s --split-input-file --verify-diagnostics

func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op refers to an unknown group @loss}}
  %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  return
}

// -----

kernel.group @loss [9, 1, 16](%y: f16[1, 0, 9], %t: f32[1, 0, 9]) -> (f32[16, 0, 1], f16[1, 0, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %s, %d : f32, f32
}
func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op needs a group that reduces over the positions of 'tensor<1x16x3x3xf16>'}}
  %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  return
}

// -----

kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f32[0, 1, 9]) -> (f32[9, 1, 0], f16[0, 1, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over last : f32
  kernel.yield %s, %d : f32, f32
}
func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op needs a group that reduces over the positions of 'tensor<1x16x3x3xf16>'}}
  %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  return
}

// -----

kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f32[0, 1, 9]) -> (f32[16, 0, 1], f16[0, 1, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %s, %d : f32, f32
}
func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op has another number of values than its group}}
  %s, %dw = table.fused_conv @loss(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  return
}

// -----

kernel.group @loss [1, 9, 16](%y: f16[0, 16, 1], %t: f32[0, 1, 9]) -> (f32[16, 0, 1], f16[0, 1, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %s, %d : f32, f32
}
func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op has a group that does not walk 'tensor<1x16x3x3xf16>' as it is in memory}}
  %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  return
}

// -----

kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f32[0, 1, 9]) -> (f32[16, 0, 1], bf16[0, 1, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %s, %d : f32, f32
}
func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op has a group that does not walk 'tensor<1x16x3x3xf16>' as it is in memory}}
  %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  return
}

// -----

kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f32[0, 1, 9]) -> (f32[16, 0, 1], f16[0, 1, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %s, %d : f32, f32
}
func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op needs parts of a gradient in f32, not 'tensor<1x16x1x2x2xf16>'}}
  %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf16>)
  return
}

// -----

kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f32[0, 1, 9]) -> (f32[16, 0, 1], f16[0, 1, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %s, %d : f32, f32
}
func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
  // expected-error@+1 {{'table.fused_conv' op needs parts of a gradient in f32, not 'tensor<16x1x2x2xf32>'}}
  %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<16x1x2x2xf32>)
  return
}

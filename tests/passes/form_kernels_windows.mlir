// Convolutions, pooling and their adjoints are entries of their own; a weight gradient is partial
// sums over shares of the batch, as many as its work is worth, and a kernel that adds them up.
// RUN: halfstep-opt %s --form-kernels | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %[[H:.*]] = table.conv forward %arg0, %arg1 {dilations = array<i64: 1, 2>, groups = 2 : i64, pads = array<i64: 1, 0, 1, 3>, strides = array<i64: 2, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x5x9xf32>
// CHECK-NEXT: %[[Y:.*]] = table.pool max %[[H]] {countedPads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}
// CHECK-NEXT: table.pool average %[[Y]] {countedPads = array<i64: 1, 0, 0, 0>
func.func @forward(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) -> tensor<2x6x2x2xf32> {
  %h = train.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>,
                          pads = array<i64: 1, 0, 1, 3>, groups = 2 : i64}
      : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x5x9xf32>
  %p = train.max_pool %h {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>,
                          dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<2x6x5x9xf32>) -> tensor<2x6x2x4xf32>
  %y = train.average_pool %p {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>,
                              dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 0>,
                              countedPads = array<i64: 1, 0, 0, 0>}
      : (tensor<2x6x2x4xf32>) -> tensor<2x6x2x2xf32>
  return %y : tensor<2x6x2x2xf32>
}

// Little to add up: one part, which is the gradient.
// CHECK-LABEL: func.func @small
// CHECK-NEXT: %[[P:.*]] = table.conv weight_gradient %arg0, %arg1 {{.*}} -> tensor<1x4x3x3x3xf32>
// CHECK-NEXT: %[[W:.*]] = table.alias %[[P]] : (tensor<1x4x3x3x3xf32>) -> tensor<4x3x3x3xf32>
// CHECK-NEXT: return %[[W]]
func.func @small(%dy: tensor<2x4x3x3xf32>, %x: tensor<2x3x5x5xf32>) -> tensor<4x3x3x3xf32> {
  %w = train.conv_weight_gradient %dy, %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<2x4x3x3xf32>, tensor<2x3x5x5xf32>) -> tensor<4x3x3x3xf32>
  return %w : tensor<4x3x3x3xf32>
}

// Much: parts of f32, rounded once where they are added up.
// CHECK: kernel.group @large_0_sum_of_parts [16, 36864](%[[E:.*]]: f32[36864, 1]) -> (f16[0, 1])
// CHECK-NEXT: kernel.reduce add %[[E]] over rows
// CHECK-LABEL: func.func @large
// CHECK-NEXT: %[[P:.*]] = table.conv weight_gradient %arg0, %arg1 {{.*}} -> tensor<16x64x64x3x3xf32>
// CHECK-NEXT: %[[W:.*]] = table.launch @large_0_sum_of_parts(%[[P]])
// CHECK-NEXT: return %[[W]]
func.func @large(%dy: tensor<8x64x56x56xf16>, %x: tensor<8x64x56x56xf16>)
    -> tensor<64x64x3x3xf16> {
  %w = train.conv_weight_gradient %dy, %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<8x64x56x56xf16>, tensor<8x64x56x56xf16>) -> tensor<64x64x3x3xf16>
  return %w : tensor<64x64x3x3xf16>
}

// CHECK-LABEL: func.func @adjoints
// CHECK-NEXT: %[[A:.*]] = table.pool average_gradient %arg0 {{.*}} -> tensor<2x4x6x6xf32>
// CHECK-NEXT: %[[B:.*]] = table.pool max_gradient %arg1, %[[A]] {{.*}} -> tensor<2x4x6x6xf32>
// CHECK-NEXT: table.conv input_gradient %[[B]], %arg2 {{.*}} -> tensor<2x3x8x8xf32>
func.func @adjoints(%dy: tensor<2x4x3x3xf32>, %x: tensor<2x4x6x6xf32>, %w: tensor<4x3x3x3xf32>)
    -> tensor<2x3x8x8xf32> {
  %a = train.average_pool_gradient %dy {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>,
      dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
      countedPads = array<i64: 0, 0, 0, 0>, sizes = array<i64: 6, 6>}
      : (tensor<2x4x3x3xf32>) -> tensor<2x4x6x6xf32>
  %b = train.max_pool_gradient %x, %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %dx = train.conv_input_gradient %b, %w {sizes = array<i64: 8, 8>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<2x4x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  return %dx : tensor<2x3x8x8xf32>
}

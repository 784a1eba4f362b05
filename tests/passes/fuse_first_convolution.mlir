// A convolution whose output only its loss reads, and whose gradient only the weight gradient reads,
// is one kernel with both; whatever stands in the way leaves the entries as they are.
// RUN: halfstep-opt %s --split-input-file --fuse-first-convolution --split-reductions --verify-phase=phase=kernels | FileCheck %s

// The loss is in one walk over [images, positions, channels]; reductions over an image's positions
// are the group's results as they are.
// CHECK: kernel.group @loss_positions [2, 36, 16](%[[Y:.*]]: f16[576, 1, 36], %[[T:.*]]: f32[576, 1, 36], %[[B:.*]]: f16[0, 0, 1]) -> (f32[16, 0, 1], f16[576, 1, 36])
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[Y]], %[[B]]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[SUM]], %[[T]]
// CHECK-NEXT: %[[L:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK-NEXT: %[[S:.*]] = kernel.reduce add %[[L]] over rows
// CHECK-NEXT: kernel.yield %[[S]], %[[D]]
// CHECK: kernel.group @sum_of_parts{{.*}} [2, 432](%{{.*}}: f32[432, 1]) -> (f16[0, 1])
// CHECK-NOT: kernel.group
// CHECK: func.func @micro(%[[X:.*]]: tensor<2x3x6x6xf16>, %[[W:.*]]: tensor<16x3x3x3xf16>, %[[BIAS:.*]]: tensor<16xf16>, %[[LABEL:.*]]: tensor<2x16x6x6xf32>)
// CHECK-NEXT: %[[R:.*]], %[[P:.*]] = table.fused_conv @loss_positions(%[[X]], %[[W]], %[[LABEL]], %[[BIAS]])
// CHECK-SAME: pads = array<i64: 1, 1, 1, 1>
// CHECK-SAME: -> (tensor<2x16xf32>, tensor<2x16x3x3x3xf32>)
// CHECK-NEXT: %[[DW:.*]] = table.launch @sum_of_parts{{.*}}(%[[P]])
// CHECK-NEXT: return %[[R]], %[[DW]]
kernel.group @loss [2, 16, 36](%t: f32[576, 36, 1], %y: f16[576, 36, 1], %b: f16[0, 1, 0]) -> (f32[16, 1, 0], f16[576, 36, 1]) {
  %sum = arith.addf %y, %b : f32
  %d = arith.subf %sum, %t : f32
  %l = arith.mulf %d, %d : f32
  %s = kernel.reduce add %l over last : f32
  kernel.yield %s, %d : f32, f32
}
kernel.group @sum_of_parts [1, 432](%p: f32[432, 1]) -> (f16[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
func.func @micro(%x: tensor<2x3x6x6xf16>, %w: tensor<16x3x3x3xf16>, %b: tensor<16xf16>, %t: tensor<2x16x6x6xf32>)
    -> (tensor<2x16xf32>, tensor<16x3x3x3xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<2x3x6x6xf16>, tensor<16x3x3x3xf16>) -> tensor<2x16x6x6xf16>
  %r:2 = table.launch @loss(%t, %y, %b) : (tensor<2x16x6x6xf32>, tensor<2x16x6x6xf16>, tensor<16xf16>) -> (tensor<2x16xf32>, tensor<2x16x6x6xf16>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<2x16x6x6xf16>, tensor<2x3x6x6xf16>) -> tensor<1x16x3x3x3xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x16x3x3x3xf32>) -> tensor<16x3x3x3xf16>
  return %r#0, %dw : tensor<2x16xf32>, tensor<16x3x3x3xf16>
}

// -----

// One sum over everything, and what follows from it; 576 positions are five chunks of an image.
// CHECK: kernel.group partial @loss_positions [2, 576, 16](%{{.*}}: bf16[9216, 1, 576], %{{.*}}: bf16[9216, 1, 576]) -> (f32[80, 16, 1], bf16[9216, 1, 576])
// CHECK: kernel.group @loss_sums [1, 160](%[[V:.*]]: f32[160, 1], %[[C:.*]]: f32[0, 0]) -> (f64[0, 0])
// CHECK-NEXT: %[[S:.*]] = kernel.reduce add %[[V]] over last
// CHECK-NEXT: %[[MEAN:.*]] = arith.divf %[[S]], %[[C]]
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[MEAN]]
// CHECK-NEXT: kernel.yield %[[WIDE]]
// CHECK: %[[R:.*]], %[[P:.*]] = table.fused_conv @loss_positions(%{{.*}}, %{{.*}}, %[[T:.*]]) {{.*}} -> (tensor<2x5x16xf32>, tensor<10x16x1x1x1xf32>)
// CHECK-NEXT: %[[LOSS:.*]] = table.launch @loss_sums(%[[R]], %{{.*}}) : (tensor<2x5x16xf32>, tensor<f32>) -> tensor<f64>
// CHECK-NEXT: %[[DW:.*]] = table.launch @sum_of_parts{{.*}}(%[[P]])
// CHECK-NEXT: return %[[LOSS]], %[[DW]]
kernel.group @loss [18432](%t: bf16[1], %y: bf16[1], %count: f32[0]) -> (f64[0], bf16[1]) {
  %d = arith.subf %y, %t : f32
  %l = math.absf %d : f32
  %s = kernel.reduce add %l over last : f32
  %mean = arith.divf %s, %count : f32
  %wide = arith.extf %mean : f32 to f64
  kernel.yield %wide, %d : f64, f32
}
kernel.group @sum_of_parts [16, 16](%p: f32[16, 1]) -> (bf16[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
func.func @micro(%x: tensor<2x1x24x24xbf16>, %w: tensor<16x1x1x1xbf16>, %t: tensor<2x16x24x24xbf16>, %count: tensor<f32>)
    -> (tensor<f64>, tensor<16x1x1x1xbf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<2x1x24x24xbf16>, tensor<16x1x1x1xbf16>) -> tensor<2x16x24x24xbf16>
  %r:2 = table.launch @loss(%t, %y, %count) : (tensor<2x16x24x24xbf16>, tensor<2x16x24x24xbf16>, tensor<f32>) -> (tensor<f64>, tensor<2x16x24x24xbf16>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<2x16x24x24xbf16>, tensor<2x1x24x24xbf16>) -> tensor<16x16x1x1x1xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<16x16x1x1x1xf32>) -> tensor<16x1x1x1xbf16>
  return %r#0, %dw : tensor<f64>, tensor<16x1x1x1xbf16>
}

// -----

// Channels that lie together: an image's positions are rows, of which the bias gradient is a sum.
// CHECK: kernel.group @loss_positions [2, 9, 32](%{{.*}}: f16[288, 32, 1], %{{.*}}: f16[288, 32, 1]) -> (f32[32, 0, 1], f16[288, 32, 1])
// CHECK: kernel.group @loss_sums [1, 2, 32](%[[V:.*]]: f32[64, 32, 1]) -> (f16[0, 0, 1])
// CHECK-NEXT: kernel.reduce add %[[V]] over rows
// CHECK: table.fused_conv @loss_positions({{.*}}) {channelsLast,
kernel.group @loss [18, 32](%y: f16[32, 1], %t: f16[32, 1]) -> (f16[32, 1], f16[0, 1]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %d, %s : f32, f32
}
kernel.group @sum_of_parts [1, 128](%p: f32[128, 1]) -> (f16[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
func.func @micro(%x: tensor<2x4x4x1xf16>, %w: tensor<32x2x2x1xf16>, %t: tensor<2x3x3x32xf16>) -> (tensor<32xf16>, tensor<32x2x2x1xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64, channelsLast}
      : (tensor<2x4x4x1xf16>, tensor<32x2x2x1xf16>) -> tensor<2x3x3x32xf16>
  %r:2 = table.launch @loss(%y, %t) : (tensor<2x3x3x32xf16>, tensor<2x3x3x32xf16>) -> (tensor<2x3x3x32xf16>, tensor<32xf16>)
  %p = table.conv weight_gradient %r#0, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64, channelsLast}
      : (tensor<2x3x3x32xf16>, tensor<2x4x4x1xf16>) -> tensor<1x32x2x2x1xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x32x2x2x1xf32>) -> tensor<32x2x2x1xf16>
  return %r#1, %dw : tensor<32xf16>, tensor<32x2x2x1xf16>
}

// -----

// Without a gradient there are the sums alone.
// CHECK: kernel.group @loss_positions [2, 9, 16](%{{.*}}: f16[144, 1, 9], %{{.*}}: f16[144, 1, 9]) -> (f32[16, 0, 1]) {
// CHECK-LABEL: func.func @evaluate
// CHECK-NEXT: %[[R:.*]] = table.fused_conv @loss_positions(%arg0, %arg1, %arg2) {{.*}} -> tensor<2x16xf32>
// CHECK-NEXT: return %[[R]]
kernel.group @loss [32, 9](%y: f16[9, 1], %t: f16[9, 1]) -> (f32[1, 0]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce max %d over last : f32
  kernel.yield %s : f32
}
func.func @evaluate(%x: tensor<2x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<2x16x3x3xf16>) -> tensor<2x16xf32> {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<2x1x4x4xf16>, tensor<16x1x2x2xf16>) -> tensor<2x16x3x3xf16>
  %r = table.launch @loss(%y, %t) : (tensor<2x16x3x3xf16>, tensor<2x16x3x3xf16>) -> tensor<2x16xf32>
  return %r : tensor<2x16xf32>
}

// -----

// What stands in the way, one thing each. The group is the same for all.
kernel.group @loss [16, 9](%y: f16[9, 1], %t: f16[9, 1]) -> (f32[1, 0], f16[9, 1]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over last : f32
  kernel.yield %s, %d : f32, f32
}
kernel.group @sum_of_parts [1, 64](%p: f32[64, 1]) -> (f16[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
// CHECK-LABEL: func.func @output_is_stored
// CHECK-NOT: table.fused_conv
func.func @output_is_stored(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf16>)
    -> (tensor<1x16x3x3xf16>, tensor<16xf32>, tensor<16x1x2x2xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>) -> tensor<1x16x3x3xf16>
  %r:2 = table.launch @loss(%y, %t) : (tensor<1x16x3x3xf16>, tensor<1x16x3x3xf16>) -> (tensor<16xf32>, tensor<1x16x3x3xf16>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x3x3xf16>, tensor<1x1x4x4xf16>) -> tensor<1x16x1x2x2xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x16x1x2x2xf32>) -> tensor<16x1x2x2xf16>
  return %y, %r#0, %dw : tensor<1x16x3x3xf16>, tensor<16xf32>, tensor<16x1x2x2xf16>
}
// CHECK-LABEL: func.func @input_has_a_gradient
// CHECK-NOT: table.fused_conv
func.func @input_has_a_gradient(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf16>)
    -> (tensor<16xf32>, tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>) -> tensor<1x16x3x3xf16>
  %r:2 = table.launch @loss(%y, %t) : (tensor<1x16x3x3xf16>, tensor<1x16x3x3xf16>) -> (tensor<16xf32>, tensor<1x16x3x3xf16>)
  %dx = table.conv input_gradient %r#1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x3x3xf16>, tensor<16x1x2x2xf16>) -> tensor<1x1x4x4xf16>
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x3x3xf16>, tensor<1x1x4x4xf16>) -> tensor<1x16x1x2x2xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x16x1x2x2xf32>) -> tensor<16x1x2x2xf16>
  return %r#0, %dx, %dw : tensor<16xf32>, tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>
}
// CHECK-LABEL: func.func @gradient_of_another_window
// CHECK-NOT: table.fused_conv
func.func @gradient_of_another_window(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf16>)
    -> (tensor<16xf32>, tensor<16x1x2x2xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>) -> tensor<1x16x3x3xf16>
  %r:2 = table.launch @loss(%y, %t) : (tensor<1x16x3x3xf16>, tensor<1x16x3x3xf16>) -> (tensor<16xf32>, tensor<1x16x3x3xf16>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads = array<i64: 1, 1, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x3x3xf16>, tensor<1x1x4x4xf16>) -> tensor<1x16x1x2x2xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x16x1x2x2xf32>) -> tensor<16x1x2x2xf16>
  return %r#0, %dw : tensor<16xf32>, tensor<16x1x2x2xf16>
}

// -----

// Numbers of 32 bits are no tensor cores'.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: table.fused_conv
kernel.group @loss [16, 9](%y: f32[9, 1], %t: f32[9, 1]) -> (f32[1, 0], f32[9, 1]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over last : f32
  kernel.yield %s, %d : f32, f32
}
kernel.group @sum_of_parts [2, 64](%p: f32[64, 1]) -> (f32[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
func.func @wide(%x: tensor<1x1x4x4xf32>, %w: tensor<16x1x2x2xf32>, %t: tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<16x1x2x2xf32>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x1x4x4xf32>, tensor<16x1x2x2xf32>) -> tensor<1x16x3x3xf32>
  %r:2 = table.launch @loss(%y, %t) : (tensor<1x16x3x3xf32>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x3x3xf32>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x3x3xf32>, tensor<1x1x4x4xf32>) -> tensor<2x16x1x2x2xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<2x16x1x2x2xf32>) -> tensor<16x1x2x2xf32>
  return %r#0, %dw : tensor<16xf32>, tensor<16x1x2x2xf32>
}

// -----

// A gradient that waits for the sum of all, as that of a normalised loss does.
// CHECK-LABEL: func.func @waits
// CHECK-NOT: table.fused_conv
kernel.group @loss [16, 9](%y: f16[9, 1], %t: f16[9, 1]) -> (f32[1, 0], f16[9, 1]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over last : f32
  %dy = arith.divf %d, %s : f32
  kernel.yield %s, %dy : f32, f32
}
kernel.group @sum_of_parts [1, 64](%p: f32[64, 1]) -> (f16[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
func.func @waits(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf16>) -> (tensor<16xf32>, tensor<16x1x2x2xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>) -> tensor<1x16x3x3xf16>
  %r:2 = table.launch @loss(%y, %t) : (tensor<1x16x3x3xf16>, tensor<1x16x3x3xf16>) -> (tensor<16xf32>, tensor<1x16x3x3xf16>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x3x3xf16>, tensor<1x1x4x4xf16>) -> tensor<1x16x1x2x2xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x16x1x2x2xf32>) -> tensor<16x1x2x2xf16>
  return %r#0, %dw : tensor<16xf32>, tensor<16x1x2x2xf16>
}

// -----

// Filters of 36 numbers, more than a row of a patch holds.
// CHECK-LABEL: func.func @large_filters
// CHECK-NOT: table.fused_conv
kernel.group @loss [16, 4](%y: f16[4, 1], %t: f16[4, 1]) -> (f32[1, 0], f16[4, 1]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over last : f32
  kernel.yield %s, %d : f32, f32
}
kernel.group @sum_of_parts [1, 576](%p: f32[576, 1]) -> (f16[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
func.func @large_filters(%x: tensor<1x4x4x4xf16>, %w: tensor<16x4x3x3xf16>, %t: tensor<1x16x2x2xf16>) -> (tensor<16xf32>, tensor<16x4x3x3xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x4x4x4xf16>, tensor<16x4x3x3xf16>) -> tensor<1x16x2x2xf16>
  %r:2 = table.launch @loss(%y, %t) : (tensor<1x16x2x2xf16>, tensor<1x16x2x2xf16>) -> (tensor<16xf32>, tensor<1x16x2x2xf16>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x2x2xf16>, tensor<1x4x4x4xf16>) -> tensor<1x16x4x3x3xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x16x4x3x3xf32>) -> tensor<16x4x3x3xf16>
  return %r#0, %dw : tensor<16xf32>, tensor<16x4x3x3xf16>
}

// -----

// The gradient of another filter that meets the same image with the same steps, such as that of a
// trained convolution beside a frozen one: 2x2 and 3x3 both fit 5x5 twice.
// CHECK-LABEL: func.func @gradient_of_another_filter
// CHECK-NOT: table.fused_conv
kernel.group @loss [16, 4](%y: f16[4, 1], %t: f16[4, 1]) -> (f32[1, 0], f16[4, 1]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over last : f32
  kernel.yield %s, %d : f32, f32
}
kernel.group @sum_of_parts [1, 64](%p: f32[64, 1]) -> (f16[0, 1]) {
  %s = kernel.reduce add %p over rows : f32
  kernel.yield %s : f32
}
func.func @gradient_of_another_filter(%x: tensor<1x1x5x5xf16>, %w: tensor<16x1x3x3xf16>, %t: tensor<1x16x2x2xf16>) -> (tensor<16xf32>, tensor<16x1x2x2xf16>) {
  %y = table.conv forward %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x1x5x5xf16>, tensor<16x1x3x3xf16>) -> tensor<1x16x2x2xf16>
  %r:2 = table.launch @loss(%y, %t) : (tensor<1x16x2x2xf16>, tensor<1x16x2x2xf16>) -> (tensor<16xf32>, tensor<1x16x2x2xf16>)
  %p = table.conv weight_gradient %r#1, %x {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x16x2x2xf16>, tensor<1x1x5x5xf16>) -> tensor<1x16x1x2x2xf32>
  %dw = table.launch @sum_of_parts(%p) : (tensor<1x16x1x2x2xf32>) -> tensor<16x1x2x2xf16>
  return %r#0, %dw : tensor<16xf32>, tensor<16x1x2x2xf16>
}

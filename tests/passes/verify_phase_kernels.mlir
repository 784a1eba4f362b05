// What the kernels phase must not leave: ops without a kernel, and kernels that reach beyond their
// tensors.
// RUN: not halfstep-opt %s -split-input-file --verify-phase=phase=kernels 2>&1 | FileCheck %s

func.func @infer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error: the kernels phase left an op that no kernel computes
  // CHECK: note: verify-phase: 'train.relu' in @infer
  %0 = train.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

kernel.group @relu [4](%x: f32[1]) -> (f32[1]) {
  kernel.yield %x : f32
}
func.func @infer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: error: the kernels phase left a kernel that does not fit its tensors
  // CHECK: note: verify-phase: @relu: has 2 buffers, the launch has 3
  %0:2 = table.launch @relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A buffer spans (4 - 1) * 9 + (8 - 1) * 1 + 1 elements.
kernel.group @relu [4, 8](%x: f32[9, 1]) -> (f32[8, 1]) {
  kernel.yield %x : f32
}
func.func @infer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: error: the kernels phase left a kernel that does not fit its tensors
  // CHECK: note: verify-phase: @relu: buffer 0 spans 35 elements of f32, the tensor is tensor<4x8xf32>
  %0 = table.launch @relu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

kernel.group @widen [4](%x: f16[1]) -> (f32[1]) {
  kernel.yield %x : f32
}
func.func @infer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: note: verify-phase: @widen: buffer 0 spans 4 elements of f16, the tensor is tensor<4xf32>
  %0 = table.launch @widen(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A partial group writes one value a chunk: 1000 rows are 8 chunks of 128; the first launch fits.
kernel.group partial @columns [1000, 4](%x: f32[4, 1]) -> (f32[4, 1]) {
  %s = kernel.reduce add %x over rows : f32
  kernel.yield %s : f32
}
func.func @infer(%x: tensor<1000x4xf32>) -> (tensor<8x4xf32>, tensor<7x4xf32>) {
  // CHECK: note: verify-phase: @columns: buffer 1 spans 32 elements of f32, the tensor is tensor<7x4xf32>
  %0 = table.launch @columns(%x) : (tensor<1000x4xf32>) -> tensor<8x4xf32>
  %1 = table.launch @columns(%x) : (tensor<1000x4xf32>) -> tensor<7x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<7x4xf32>
}

// -----

kernel.contract @product [2, 3, 4, 5] f32 (a[15, 5, 1], b[0, 4, 1]) -> c[12, 4, 1]
func.func @infer(%a: tensor<2x3x5xf32>, %b: tensor<4x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK: note: verify-phase: @product: buffer 1 spans 20 elements of f32, the tensor is tensor<4x4xf32>
  %0 = table.launch @product(%a, %b) : (tensor<2x3x5xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// What a convolution computes with has buffers for all but y and dy.
kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f16[0, 1, 9]) -> (f32[16, 0, 1], f16[0, 1, 9]) {
  %d = arith.subf %y, %t : f32
  %s = kernel.reduce add %d over rows : f32
  kernel.yield %s, %d : f32, f32
}
func.func @infer(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf16>, %u: tensor<1x15x3x3xf16>) -> tensor<1x16x1x2x2xf32> {
  // CHECK: note: verify-phase: @loss: buffer 0 spans 144 elements of f16, the tensor is tensor<1x15x3x3xf16>
  %0, %1 = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf16>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  %2, %3 = table.fused_conv @loss(%x, %w, %u) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x15x3x3xf16>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
  return %3 : tensor<1x16x1x2x2xf32>
}

// -----

// Two parts of 4 columns in 10: columns 4 and 5 are never written.
kernel.group @first [2, 4](%x: f32[4, 1]) -> (f32[10, 1]) {
  kernel.yield %x : f32
}
kernel.group @second [2, 4](%x: f32[4, 1], %y: f32[10, 1] + 6) -> (%y) {
  kernel.yield %x : f32
}
func.func @infer(%x: tensor<2x4xf32>) -> tensor<2x10xf32> {
  // CHECK: error: the kernels phase left a value that is read before all of it is written
  // CHECK: note: verify-phase: operand 0 of 'func.return'
  %0 = table.launch @first(%x) : (tensor<2x4xf32>) -> tensor<2x10xf32>
  %1 = table.launch @second(%x, %0) {updates = array<i64: 1>} : (tensor<2x4xf32>, tensor<2x10xf32>) -> tensor<2x10xf32>
  return %1 : tensor<2x10xf32>
}

// -----

// As many elements as there are, but some twice and some never.
kernel.group @first [2, 4](%x: f32[4, 1]) -> (f32[8, 1]) {
  kernel.yield %x : f32
}
kernel.group @second [2, 4](%x: f32[4, 1], %y: f32[8, 1] + 3) -> (%y) {
  kernel.yield %x : f32
}
func.func @infer(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  // CHECK: note: verify-phase: operand 0 of 'func.return'
  %0 = table.launch @first(%x) : (tensor<2x4xf32>) -> tensor<2x8xf32>
  %1 = table.launch @second(%x, %0) {updates = array<i64: 1>} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

kernel.group @fill [8]() -> (f32[1]) {
  %zero = arith.constant 0.0 : f32
  kernel.yield %zero : f32
}
kernel.group @write [4](%x: f32[1], %y: f32[1] + 4) -> (%y) {
  kernel.yield %x : f32
}
func.func @infer(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: error: the kernels phase left a value that is updated and read elsewhere
  // CHECK: note: verify-phase: operand 1 of @write
  %0 = table.launch @fill() : () -> tensor<8xf32>
  %1 = table.launch @write(%x, %0) {updates = array<i64: 1>} : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

kernel.group @write [4](%x: f32[1], %y: f32[1]) -> (%y) {
  kernel.yield %x : f32
}
func.func @infer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error: the kernels phase left a result that its kernel computes in another place
  // CHECK: note: verify-phase: result 0 of @write
  %0 = table.launch @write(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

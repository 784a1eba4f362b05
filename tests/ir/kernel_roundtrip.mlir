// The custom assembly of the kernel dialect prints what it parses.
// RUN: halfstep-opt %s | halfstep-opt | FileCheck %s

// CHECK: kernel.group @softmax [16, 10](%[[X:.*]]: f16[10, 1]) -> (f32[10, 1], f32[1, 0]) {
kernel.group @softmax [16, 10](%x: f16[10, 1]) -> (f32[10, 1], f32[1, 0]) {
  // CHECK: kernel.reduce max %[[X]] over last : f32
  %max = kernel.reduce max %x over last : f32
  %shifted = arith.subf %x, %max : f32
  %exp = math.exp %shifted : f32
  %sum = kernel.reduce add %exp over last : f32
  %y = arith.divf %exp, %sum : f32
  // CHECK: kernel.yield %{{.*}}, %{{.*}} : f32, f32
  kernel.yield %y, %sum : f32, f32
}

// CHECK: kernel.group @sgd [1000](%[[W:.*]]: f32[1], %{{.*}}: f32[1], %{{.*}}: f64[0]) -> (%[[W]], bf16[1]) {
kernel.group @sgd [1000](%w: f32[1], %dw: f32[1], %lr: f64[0]) -> (%w, bf16[1]) {
  %rate = arith.truncf %lr : f64 to f32
  %step = arith.mulf %dw, %rate : f32
  %updated = arith.subf %w, %step : f32
  kernel.yield %updated, %updated : f32, f32
}

// CHECK: kernel.group partial @bias_gradient [4, 1000, 10](%{{.*}}: f32[10000, 10, 1]) -> (f32[80, 10, 1]) {
kernel.group partial @bias_gradient [4, 1000, 10](%dy: f32[10000, 10, 1]) -> (f32[80, 10, 1]) {
  // CHECK: kernel.reduce add %{{.*}} over rows : f32
  %sum = kernel.reduce add %dy over rows : f32
  kernel.yield %sum : f32
}

// CHECK: kernel.group @one_hot [16, 10](%{{.*}}: i64[1, 0], %{{.*}}: ui8[0, 0]) -> (i1[10, 1]) {
kernel.group @one_hot [16, 10](%label: i64[1, 0], %offset: ui8[0, 0]) -> (i1[10, 1]) {
  // CHECK: kernel.index [0, 1] : i32
  %column = kernel.index [0, 1] : i32
  %shifted = arith.addi %column, %offset : i32
  %wide = arith.extsi %shifted : i32 to i64
  %is = arith.cmpi eq, %wide, %label : i64
  kernel.yield %is : i1
}

// CHECK: kernel.contract @linear [1, 16, 10, 8] f32(a [0, 8, 1], b [0, 1, 8]) -> c [0, 10, 1]
kernel.contract @linear [1, 16, 10, 8] f32 (a[0, 8, 1], b[0, 1, 8]) -> c[0, 10, 1]

// CHECK: kernel.contract @biased [1, 16, 10, 8] f16(a [0, 8, 1], b [0, 1, 8], bias) -> c [0, 10, 1]
kernel.contract @biased [1, 16, 10, 8] f16 (a[0, 8, 1], b[0, 1, 8], bias) -> c[0, 10, 1]

// A part of a tensor, read backwards, into a part of another.
// CHECK: kernel.group @part [4, 8](%{{.*}}: f32[20, -2] + 19, %[[W:.*]]: f32[8, 1]) -> (f32[30, 1] + 5, %[[W]]) {
kernel.group @part [4, 8](%x: f32[20, -2] + 19, %w: f32[8, 1] + 0) -> (f32[30, 1] + 5, %w) {
  kernel.yield %x, %x : f32, f32
}

// A long reduction becomes a partial group, which has a result a chunk, and a final one.
// RUN: halfstep-opt %s --split-reductions | FileCheck %s

// The mask and the scale go where they are used; the epilogue updates %g in the final group.
// CHECK-LABEL: kernel.group partial @bias_gradient_partial
// CHECK-SAME: [4, 1000, 10](%[[DY:.*]]: f32[10000, 10, 1], %[[M:.*]]: i1[10000, 10, 1]) -> (f32[80, 10, 1], f32[10000, 10, 1])
// CHECK: %[[D:.*]] = arith.select %[[M]], %[[DY]], %{{.*}}
// CHECK: %[[S:.*]] = kernel.reduce add %[[D]] over rows
// CHECK: kernel.yield %[[S]], %[[D]]
// CHECK: kernel.group @bias_gradient
// CHECK-SAME: [4, 8, 10](%[[P:.*]]: f32[80, 10, 1], %[[G:.*]]: f32[10, 0, 1], %[[SCALE:.*]]: f32[0, 0, 0]) -> (%[[G]])
// CHECK: %[[S:.*]] = kernel.reduce add %[[P]] over rows
// CHECK: arith.mulf %[[S]], %[[SCALE]]
kernel.group @bias_gradient [4, 1000, 10](%dy: f32[10000, 10, 1], %mask: i1[10000, 10, 1], %g: f32[10, 0, 1], %scale : f32[0, 0, 0]) -> (%g, f32[10000, 10, 1]) {
  %zero = arith.constant 0.0 : f32
  %d = arith.select %mask, %dy, %zero : f32
  %sum = kernel.reduce add %d over rows : f32
  %scaled = arith.mulf %sum, %scale : f32
  %updated = arith.addf %scaled, %g : f32
  kernel.yield %updated, %d : f32, f32
}

// CHECK-LABEL: kernel.group partial @norm_partial
// CHECK-SAME: [100000](%{{.*}}: f32[1]) -> (f32[1])
// CHECK: kernel.group @norm
// CHECK-SAME: [7](%{{.*}}: f32[1]) -> (f32[0])
// CHECK: kernel.reduce add
// CHECK: math.sqrt
kernel.group @norm [100000](%x: f32[1]) -> (f32[0]) {
  %square = arith.mulf %x, %x : f32
  %sum = kernel.reduce add %square over last : f32
  %norm = math.sqrt %sum : f32
  kernel.yield %norm : f32
}

// Short enough, rows enough, or with a second walk that has to wait: left alone.
// CHECK-NOT: partial
kernel.group @short [512, 10](%x: f32[10, 1]) -> (f32[0, 1]) {
  %sum = kernel.reduce add %x over rows : f32
  kernel.yield %sum : f32
}
kernel.group @many_rows [64, 100000](%x: f32[100000, 1]) -> (f32[1, 0]) {
  %sum = kernel.reduce add %x over last : f32
  kernel.yield %sum : f32
}
kernel.group @two_walks [100000](%x: f32[1]) -> (f32[1]) {
  %sum = kernel.reduce add %x over last : f32
  %y = arith.divf %x, %sum : f32
  kernel.yield %y : f32
}

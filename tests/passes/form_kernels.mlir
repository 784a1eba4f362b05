// What is computed together: chains with several uses and results, across row reductions, into
// column reductions; what is not: across a product, behind a column reduction, in a cycle.
// RUN: halfstep-opt %s --form-kernels --split-reductions | FileCheck %s
// RUN: halfstep-opt %s --form-kernels=fuse=false --split-reductions | FileCheck %s --check-prefix=ONE

// A producer with two readers and two results is one kernel.
// CHECK-LABEL: kernel.group @chain_0_add_tanh_mul [4, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 1]) -> (f32[8, 1], f32[8, 1])
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: table.launch @chain_0_add_tanh_mul
// CHECK-NEXT: return
// ONE-LABEL: func.func @chain
// ONE-COUNT-3: table.launch
// ONE-NEXT: return
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = train.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %t = train.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = train.mul %s, %t : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %t, %y : tensor<4x8xf32>, tensor<4x8xf32>
}

// Row-wise softmax: two reductions and the use of both, in one kernel.
// CHECK: kernel.group @softmax_{{.*}} [4, 8](%[[X:.*]]: f32[8, 1]) -> (f32[8, 1])
// CHECK: %[[M:.*]] = kernel.reduce max %[[X]] over last
// CHECK: %[[S:.*]] = kernel.reduce add %{{.*}} over last
// CHECK: arith.divf
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: table.launch
// CHECK-NEXT: return
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = train.max %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = train.sub %x, %m : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %e = train.exp %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = train.sum %e {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %y = train.div %e, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// A bias gradient is summed where its values are made; nothing at the elements can wait for it.
// CHECK: kernel.group @columns_{{.*}} [4, 8](%{{.*}}: f32[8, 1]) -> (f32[8, 1], f32[0, 1])
// CHECK: kernel.reduce add %{{.*}} over rows
// CHECK: kernel.group @columns_{{.*}}_mul [4, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 1]) -> (f32[8, 1])
func.func @columns(%x: tensor<4x8xf32>) -> (tensor<1x8xf32>, tensor<4x8xf32>) {
  %t = train.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = train.sum %t {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %y = train.mul %t, %s : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return %s, %y : tensor<1x8xf32>, tensor<4x8xf32>
}

// Two readers of %a that are connected through a product stay apart: together they would wait for
// themselves.
// CHECK-LABEL: func.func @cycle
// CHECK: %[[E:.*]] = table.launch @cycle_{{.*}}_exp(
// CHECK: %[[P:.*]] = table.launch @cycle_{{.*}}_matmul(%[[E]], %[[E]])
// CHECK: table.launch @cycle_{{.*}}_add(%[[E]], %[[P]])
func.func @cycle(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = train.exp %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = train.matmul %e, %e : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = train.add %e, %p : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// Movement becomes strides; a product of useful size is a library call.
// CHECK: kernel.group @views_{{.*}} [8, 4](%{{.*}}: f32[1, 8], %{{.*}}: f32[0, 0]) -> (f32[4, 1])
// CHECK-LABEL: func.func @views
// CHECK: table.gemm %{{.*}}, %{{.*}} {transB}
func.func @views(%x: tensor<4x8xf32>, %s: tensor<1xf32>, %a: tensor<64x64xf32>)
    -> (tensor<8x4xf32>, tensor<64x64xf32>) {
  %t = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %b = train.broadcast %s {sizes = array<i64: 8, 4>} : (tensor<1xf32>) -> tensor<8x4xf32>
  %y = train.mul %t, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = train.matmul %a, %a {transB = true}
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y, %p : tensor<8x4xf32>, tensor<64x64xf32>
}

// A vector added to all rows of a product, and nothing else done with it: its bias, through reshapes
// too. The rest is fused as ever.
// CHECK: kernel.contract @bias_{{.*}}_matmul_add [1, 4, 8, 8] f32(a [32, 8, 1], b [64, 8, 1], bias) -> c [32, 8, 1]
// CHECK-LABEL: func.func @bias
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<1x8xf32>, %[[A:.*]]: tensor<64x64xf32>, %[[V:.*]]: tensor<64xf32>)
// CHECK-DAG: %[[V1:.*]] = table.alias %[[B]] : (tensor<1x8xf32>) -> tensor<8xf32>
// CHECK-DAG: %[[P:.*]] = table.launch @bias_{{.*}}_matmul_add(%[[X]], %[[W]], %[[V1]])
// CHECK-DAG: table.launch @bias_{{.*}}_relu(%[[P]])
// CHECK-DAG: table.gemm %[[A]], %[[A]], %[[V]] {transA} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>)
// CHECK-NOT: _add(
// CHECK: return
// ONE-LABEL: func.func @bias
// ONE-DAG: table.launch @bias_{{.*}}_matmul_add(
// ONE-DAG: table.launch @bias_{{.*}}_relu(
// ONE-DAG: table.gemm %{{.*}}, %{{.*}}, %{{.*}} {transA}
// ONE-NOT: _add(
// ONE: return
func.func @bias(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<1x8xf32>,
                %a: tensor<64x64xf32>, %v: tensor<64xf32>)
    -> (tensor<2x2x8xf32>, tensor<64x64xf32>) {
  %p = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %r = train.reshape %p {sizes = array<i64: 2, 2, 8>} : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
  %s = train.add %b, %r : (tensor<1x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  %y = train.relu %s : (tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  %q = train.matmul %a, %a {transA = true}
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = train.add %q, %v : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  return %y, %z : tensor<2x2x8xf32>, tensor<64x64xf32>
}

// In 16 bits a product and a sum round twice; only Gemm's addition is the product's own.
// CHECK-LABEL: func.func @bias_in_half
// CHECK-DAG: table.launch @bias_in_half_{{.*}}_matmul_add(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK-DAG: %[[P:.*]] = table.launch @bias_in_half_{{.*}}_matmul(%{{.*}}, %{{.*}})
// CHECK-DAG: table.launch @bias_in_half_{{[0-9]*}}_add(%[[P]], %{{.*}})
// CHECK: return
func.func @bias_in_half(%x: tensor<4x8xf16>, %w: tensor<8x8xf16>, %b: tensor<8xf16>)
    -> (tensor<4x8xf16>, tensor<4x8xf16>) {
  %p = train.matmul %x, %w : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  %y = train.add %p, %b {train.category = 0 : i32}
      : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  %q = train.matmul %y, %w : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  %z = train.add %q, %b : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  return %y, %z : tensor<4x8xf16>, tensor<4x8xf16>
}

// Not a bias: a column, a product that is read twice, a sum of a product with itself. Of two
// products one can be the bias of the other.
// CHECK-LABEL: func.func @no_bias
// CHECK-NOT: matmul_add
// CHECK: return
// CHECK-LABEL: func.func @two_products
// CHECK: %[[P:.*]] = table.launch @two_products_{{.*}}_matmul(
// CHECK: table.launch @two_products_{{.*}}_matmul_add(%{{.*}}, %{{.*}}, %
// CHECK-NEXT: return
func.func @no_bias(%x: tensor<8x8xf32>, %c: tensor<8x1xf32>, %b: tensor<8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = train.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = train.add %p, %c : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %q = train.matmul %y, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = train.add %q, %b : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %r = train.matmul %z, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = train.add %r, %r : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y, %q, %z, %d : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
func.func @two_products(%x: tensor<1x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>)
    -> tensor<1x8xf32> {
  %p = train.matmul %x, %w : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  %q = train.matmul %x, %v : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  %y = train.add %p, %q : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}

// A value that looks like a row of the space but is one of its columns is read from memory.
// CHECK: kernel.group @misaligned_{{.*}}_sum [8, 8]
// CHECK: kernel.group @misaligned_{{.*}}_add [8, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 1]) -> (f32[8, 1])
func.func @misaligned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = train.sum %x {axes = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %r = train.reshape %s {sizes = array<i64: 8>} : (tensor<8x1xf32>) -> tensor<8xf32>
  %y = train.add %x, %r : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Numbers that are known are computed where they are read.
// CHECK: kernel.group @constants_{{.*}} [4](%{{.*}}: f32[1]) -> (f32[1])
// CHECK: arith.mulf %cst{{.*}}, %cst
func.func @constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.constant dense<2.0> : tensor<f32>
  %b = arith.constant dense<3.0> : tensor<f32>
  %c = train.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = train.mul %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Three groups that wait for each other in turn: merging the first and the last would close a
// cycle through a member that comes later in the program.
// CHECK-LABEL: func.func @crossed
// CHECK: %[[T:.*]] = table.launch @crossed_{{.*}}relu(
// CHECK: return
func.func @crossed(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %z: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %t = train.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %tt = train.transpose %t {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = train.exp %tt : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v = train.tanh %z : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %tv = train.transpose %v {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %w = train.add %x, %tv : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = train.add %u, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %tp = train.transpose %p {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = train.mul %v, %tp : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %w, %q : tensor<4x4xf32>, tensor<4x4xf32>
}

// A number that follows cheaply from state that the program keeps is computed by all its readers;
// one that takes more, or follows from what the program updates, is in memory.
// CHECK: kernel.group @scalars_{{.*}} [8](%[[G:.*]]: f32[1], %[[SCALE:.*]]: f64[0]) -> (f32[1])
// CHECK-NEXT: arith.truncf %[[SCALE]] : f64 to f32
// CHECK: kernel.group @scalars_{{.*}} [16](%{{.*}}: f32[1], %{{.*}}: f64[0]) -> (f32[1])
// CHECK-NEXT: arith.truncf
// CHECK: kernel.group @scalars_{{.*}}_cast_sqrt_add [1](%{{.*}}: f64[0], %{{.*}}: f64[0]) -> (f32[0], f32[0], f64[0])
// CHECK: kernel.group @scalars_{{.*}}_mul_mul [32](%{{.*}}: f32[1], %{{.*}}: f32[0], %{{.*}}: f32[0]) -> (f32[1], f32[1])
// CHECK-LABEL: func.func @scalars
func.func @scalars(%scale: tensor<f64> {train.state = "scale"}, %count: tensor<f64> {train.state = "count"},
                   %a: tensor<8xf32>, %b: tensor<16xf32>, %c: tensor<32xf32>)
    -> (tensor<8xf32>, tensor<16xf32>, tensor<32xf32>, tensor<32xf32>,
        tensor<f64> {train.updates = "count"}) {
  %one = arith.constant dense<1.0> : tensor<f64>
  %seed = train.cast %scale to f32 : (tensor<f64>) -> tensor<f32>
  %x = train.mul %a, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %y = train.mul %b, %seed : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  %old = train.cast %count to f32 : (tensor<f64>) -> tensor<f32>
  %z = train.mul %c, %old : (tensor<32xf32>, tensor<f32>) -> tensor<32xf32>
  %root = train.sqrt %seed : (tensor<f32>) -> tensor<f32>
  %w = train.mul %z, %root : (tensor<32xf32>, tensor<f32>) -> tensor<32xf32>
  %next = train.add %count, %one : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %x, %y, %z, %w, %next
      : tensor<8xf32>, tensor<16xf32>, tensor<32xf32>, tensor<32xf32>, tensor<f64>
}

// A row of two chunks of its tree is walked again by whoever sums it; behind the sum of a longer one
// another kernel begins.
// CHECK-LABEL: func.func @row
// CHECK-NEXT: table.launch
// CHECK-NEXT: return
func.func @row(%x: tensor<32768xf32>) -> tensor<32768xf32> {
  %s = train.sum %x {axes = array<i64: 0>} : (tensor<32768xf32>) -> tensor<1xf32>
  %y = train.mul %x, %s : (tensor<32768xf32>, tensor<1xf32>) -> tensor<32768xf32>
  return %y : tensor<32768xf32>
}

// CHECK-LABEL: func.func @longRow
// CHECK-NEXT: table.launch @{{.*}}_partial
// CHECK-NEXT: table.launch
// CHECK-NEXT: table.launch
// CHECK-NEXT: return
func.func @longRow(%x: tensor<32769xf32>) -> tensor<32769xf32> {
  %s = train.sum %x {axes = array<i64: 0>} : (tensor<32769xf32>) -> tensor<1xf32>
  %y = train.mul %x, %s : (tensor<32769xf32>, tensor<1xf32>) -> tensor<32769xf32>
  return %y : tensor<32769xf32>
}

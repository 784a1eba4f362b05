// The structure of a kernel in each form.
// RUN: halfstep-opt %s --emit-cpu-kernels | FileCheck %s

// Dimensions that every buffer walks as one become one: a single loop over vectors, then the rest.
// CHECK-LABEL: func.func @merged(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME: grain = 456 : i64, units = 1 : i64
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<32xf32>
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: scf.for
kernel.group @merged [4, 6, 6](%x: f32[36, 6, 1]) -> (f32[36, 6, 1]) {
  %y = arith.negf %x : f32
  kernel.yield %y : f32
}

// What is the same everywhere is computed once a call, before the loop over units.
// CHECK-LABEL: func.func @uniform
// CHECK: arith.truncf
// CHECK: scf.for
// CHECK-NOT: arith.truncf
kernel.group @uniform [100](%x: f32[1], %lr: f64[0]) -> (%x) {
  %rate = arith.truncf %lr : f64 to f32
  %y = arith.mulf %x, %rate : f32
  kernel.yield %y : f32
}

// Short rows: eight at a time, each read once; 16 = 2 x 8.
// CHECK-LABEL: func.func @softmax
// CHECK-SAME: units = 2 : i64
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<10xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-8: llvm.store {{.*}} : vector<10xf32>
kernel.group @softmax [16, 10](%x: f32[10, 1]) -> (f32[10, 1]) {
  %max = kernel.reduce max %x over last : f32
  %shifted = arith.subf %x, %max : f32
  %exp = math.exp %shifted : f32
  %sum = kernel.reduce add %exp over last : f32
  %y = arith.divf %exp, %sum : f32
  kernel.yield %y : f32
}

// A long row keeps its exponentials for the last walk.
// CHECK-LABEL: func.func @long_softmax
// CHECK: llvm.alloca
// CHECK: math.exp
// CHECK-NOT: math.exp
kernel.group @long_softmax [4, 1024](%x: f32[1024, 1]) -> (f32[1024, 1]) {
  %max = kernel.reduce max %x over last : f32
  %shifted = arith.subf %x, %max : f32
  %exp = math.exp %shifted : f32
  %sum = kernel.reduce add %exp over last : f32
  %y = arith.divf %exp, %sum : f32
  kernel.yield %y : f32
}

// Every result of a tile is computed before one is stored: buffers may be updated in place.
// CHECK-LABEL: func.func @swap
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK: llvm.store
kernel.group @swap [8](%x: f32[1], %y: f32[1]) -> (%x, %y) {
  kernel.yield %y, %x : f32, f32
}

// A transposition goes through registers: no single element is loaded in its squares.
// CHECK-LABEL: func.func @transpose
// CHECK-NOT: llvm.load {{.*}} -> f32
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xf32>
kernel.group @transpose [64, 64](%x: f32[1, 64]) -> (f32[64, 1]) {
  kernel.yield %x : f32
}

// b is packed where its rows are not contiguous.
// CHECK-LABEL: func.func @linear
// CHECK: llvm.alloca %{{.*}} x f32
// CHECK: math.fma
// CHECK-LABEL: func.func @product
// CHECK-NOT: llvm.alloca
// CHECK: math.fma
kernel.contract @linear [1, 16, 10, 8] f32 (a[0, 8, 1], b[0, 1, 8]) -> c[0, 10, 1]
kernel.contract @product [1, 16, 10, 8] f32 (a[0, 8, 1], b[0, 10, 1]) -> c[0, 10, 1]

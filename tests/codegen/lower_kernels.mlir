// Functions of f32 become arithmetic, those of f64 calls; no operation is allowed to be imprecise.
// RUN: halfstep-opt %s --emit-cpu-kernels --lower-kernels | FileCheck %s

// CHECK-DAG: llvm.func @tanh(f64) -> f64
// CHECK-DAG: llvm.func @erf(f64) -> f64
// CHECK-NOT: llvm.func @{{.*}}f(f32)

// CHECK-LABEL: llvm.func @single
// CHECK-NOT: llvm.call
// CHECK-NOT: fastmath
kernel.group @single [8](%x: f32[1], %y: f32[1]) -> (f32[1], f32[1], f32[1], f32[1], f32[1]) {
  %a = math.exp %x : f32
  %b = math.log %x : f32
  %c = math.tanh %x : f32
  %d = math.erf %x : f32
  %e = math.powf %x, %y : f32
  kernel.yield %a, %b, %c, %d, %e : f32, f32, f32, f32, f32
}

// CHECK-LABEL: llvm.func @double
// CHECK: llvm.call @tanh
// CHECK: llvm.call @erf
kernel.group @double [8](%x: f64[1]) -> (f64[1], f64[1]) {
  %a = math.tanh %x : f64
  %b = math.erf %x : f64
  kernel.yield %a, %b : f64, f64
}

// relu is one comparison: the NaN is what comes out of it.
// CHECK-LABEL: llvm.func @relu
// CHECK: llvm.fcmp "ogt"
// CHECK-NOT: llvm.fcmp
// CHECK: llvm.return
kernel.group @relu [8](%x: f32[1]) -> (f32[1]) {
  %zero = arith.constant 0.0 : f32
  %y = arith.maximumf %x, %zero : f32
  kernel.yield %y : f32
}

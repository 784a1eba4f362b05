// f64 is only trained as it is.
// RUN: halfstep-opt %s --assign-precision=mode=as-is | FileCheck %s
// RUN: halfstep-opt %s --assign-precision=mode=fp32 --verify-diagnostics

// CHECK: train.exp %{{.*}} : (tensor<2xf64>) -> tensor<2xf64>
func.func @forward(%x: tensor<2xf64>) -> tensor<2xf64> {
  // expected-error @below {{computes in f64, which only --precision as-is does}}
  // expected-note @below {{help: --precision as-is keeps the types of the file}}
  %y = train.exp %x : (tensor<2xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}

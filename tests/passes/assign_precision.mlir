// fp32 takes only models that are f32 already; as-is takes any.
// RUN: halfstep-opt %s --assign-precision=mode=as-is | FileCheck %s
// RUN: halfstep-opt %s --assign-precision=mode=fp32 --verify-diagnostics

// CHECK: train.exp %{{.*}} : (tensor<2xf64>) -> tensor<2xf64>
func.func @forward(%x: tensor<2xf64>) -> tensor<2xf64> {
  // expected-error @below {{computes in 'f64', which --precision fp32 does not}}
  // expected-note @below {{help: --precision as-is keeps the types of the file}}
  %y = train.exp %x : (tensor<2xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}

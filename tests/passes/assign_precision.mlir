// Autocast: contractions in 16 bits, exp in f32, the rest in the widest operand's type; an adjoint
// has its primal's type and a weight's gradient is f32.
// RUN: halfstep-opt %s --assign-precision=mode=autocast | FileCheck %s --check-prefixes=CHECK,AUTO
// Half-grad: the weight is read as a copy and its gradient stays narrow; a parameter that only Full
// ops read has no copy.
// RUN: halfstep-opt %s --assign-precision="mode=half-grad half-type=bf16" | FileCheck %s --check-prefix=HG
// Half: 16-bit weights, f32 only inside ops and in the loss.
// RUN: halfstep-opt %s --assign-precision=mode=half | FileCheck %s --check-prefix=HALF
// RUN: halfstep-opt %s --assign-precision="mode=autocast pin=exp=fp16" | FileCheck %s --check-prefix=PIN
// RUN: not halfstep-opt %s --assign-precision="mode=autocast pin=nothing=fp16" 2>&1 | FileCheck %s --check-prefix=NOPIN

// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x8xf32> {train.input = "x"}
// AUTO-SAME: %[[W:[^:]+]]: tensor<8x8xf32> {train.parameter = "w", train.trainable}
// AUTO: %[[XH:.*]] = train.cast %[[X]] to f16
// AUTO: %[[WH:.*]] = train.cast %[[W]] to f16
// AUTO: %[[H:.*]] = train.matmul %[[XH]], %[[WH]] {train.reason = "category"} : {{.*}} -> tensor<4x8xf16>
// AUTO: train.tanh %[[H]] {train.reason = "policy"} : (tensor<4x8xf16>)
// AUTO: train.exp %{{.*}} {train.reason = "category"} : (tensor<4x8xf32>)
// AUTO: train.mul %{{.*}}, %{{.*}} {train.reason = "widened"} : (tensor<4x8xf32>, tensor<8xf32>)
// AUTO: train.mse_loss %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<f32>
// AUTO: train.adjoint(%{{.*}}) of %[[H]] {{.*}} -> tensor<4x8xf16>
// AUTO: %[[DW:.*]] = train.adjoint(%{{.*}}) of %[[W]] {{.*}} : (tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf16>
// AUTO: %[[CW:.*]] = train.cast %[[DW]] to f32
// AUTO: %[[GW:.*]] = train.adjoint(%[[CW]]) of %[[W]] {{.*}} -> tensor<8x8xf32>
// AUTO: train.adjoint(%{{.*}}) of %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>
// AUTO: return %{{.*}}, %[[GW]], %{{.*}}

// HG-LABEL: func.func @micro
// HG-SAME: tensor<8x8xbf16> {train.copy = "w", train.trainable}
// HG-SAME: tensor<8xf32> {train.parameter = "full", train.trainable}
// HG-SAME: tensor<8x8xbf16> {train.gradient = "w"}, tensor<8xf32> {train.gradient = "full"}

// RUN: halfstep-opt %s --assign-precision="mode=half half-type=bf16" -o %t 2>&1 | FileCheck %s --check-prefix=LOST
// LOST: remark: 16-bit weights lose updates below 2^-9 of themselves; --precision half-grad keeps f32 masters
// HALF-LABEL: func.func @micro
// HALF-SAME: tensor<8x8xf16> {train.parameter = "w", train.trainable}
// HALF: %[[E:.*]] = train.exp %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// HALF: train.cast %[[E]] to f16
// HALF: train.mse_loss %{{.*}} -> tensor<f32>

// PIN: train.exp %{{.*}} {train.reason = "pinned"} : (tensor<4x8xf16>)
// NOPIN: error: --pin nothing=fp16 matches no node and no op
func.func @micro(%x: tensor<4x8xf32> {train.input = "x"}, %t: tensor<4x8xf32> {train.label},
                 %w: tensor<8x8xf32> {train.parameter = "w", train.trainable},
                 %f: tensor<8xf32> {train.parameter = "full", train.trainable})
    -> (tensor<f32> {train.metric = "loss"}, tensor<8x8xf32> {train.gradient = "w"},
        tensor<8xf32> {train.gradient = "full"}) {
  %h = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = train.tanh %h : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = train.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = train.log %f : (tensor<8xf32>) -> tensor<8xf32>
  %y = train.mul %e, %l : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %loss = train.mse_loss %y, %t {reduction = 0 : i32}
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<f32>
  %dh = train.adjoint(%e) of %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %gw = train.matmul %x, %dh {transA = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %dw = train.adjoint(%gw) of %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %df = train.adjoint(%y) of %f : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %loss, %dw, %df : tensor<f32>, tensor<8x8xf32>, tensor<8xf32>
}

// An output in 16 bits stays so, and says what the file declares; one in f32 is handed out as it is.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: -> (tensor<4x2xf16> {train.file_type = f32, train.output = "y"}, tensor<4x2xf32> {train.output = "z"})
// CHECK: %[[Y:.*]] = train.matmul {{.*}} -> tensor<4x2xf16>
// CHECK: %[[Z:.*]] = train.exp {{.*}} -> tensor<4x2xf32>
// CHECK: return %[[Y]], %[[Z]]
func.func @forward(%x: tensor<4x8xf32> {train.input = "x"},
                   %w: tensor<8x2xf32> {train.parameter = "v"})
    -> (tensor<4x2xf32> {train.output = "y"}, tensor<4x2xf32> {train.output = "z"}) {
  %y = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %z = train.exp %y : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %y, %z : tensor<4x2xf32>, tensor<4x2xf32>
}

// A view of a weight is read through a cast as the weight is.
// AUTO-LABEL: func.func @view
// AUTO: %[[V:.*]] = train.reshape %arg1
// AUTO: %[[D:.*]] = train.adjoint(%{{.*}}) of %[[V]] {{.*}} : (tensor<4x8xf16>, tensor<1x8xf32>) -> tensor<1x8xf16>
// AUTO: %[[C:.*]] = train.cast %[[D]] to f32
// AUTO: train.adjoint(%[[C]]) of %[[V]] {{.*}} -> tensor<1x8xf32>
func.func @view(%x: tensor<4x8xf32> {train.input = "x"},
                %b: tensor<8xf32> {train.parameter = "b", train.trainable})
    -> (tensor<1x8xf32> {train.gradient = "b"}) {
  %v = train.reshape %b {sizes = array<i64: 1, 8>} : (tensor<8xf32>) -> tensor<1x8xf32>
  %y = train.add %x, %v {train.category = 0 : i32} : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %d = train.adjoint(%y) of %v : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  return %d : tensor<1x8xf32>
}

// A number that 16 bits do not hold takes its reader to f32.
// AUTO-LABEL: func.func @constants
// AUTO: train.add %{{.*}}, %{{.*}} {train.reason = "policy"} : (tensor<4x8xf16>, tensor<f16>)
// AUTO: train.add %{{.*}}, %{{.*}} {train.reason = "widened"} : (tensor<4x8xf32>, tensor<f32>)
// AUTO: train.mul %{{.*}}, %{{.*}} {train.reason = "widened"} : (tensor<4x8xf32>, tensor<f32>)
func.func @constants(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %small = arith.constant dense<1.0e-8> : tensor<f32>
  %large = arith.constant dense<-1.0e9> : tensor<f32>
  %h = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = train.add %h, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = train.add %h, %small : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %c = train.mul %h, %large : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// One weight read by several products is cast once, for forward and backward.
// RUN: halfstep-opt %s --assign-precision=mode=autocast --cse | FileCheck %s --check-prefix=ONCE
// ONCE-LABEL: func.func @shared
// ONCE: train.cast %arg1 to f16
// ONCE-NOT: train.cast %arg1
func.func @shared(%x: tensor<8x8xf32> {train.input = "x"},
                  %w: tensor<8x8xf32> {train.parameter = "w", train.trainable}) -> tensor<8x8xf32> {
  %0 = train.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = train.matmul %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = train.matmul %1, %w {transB = true} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

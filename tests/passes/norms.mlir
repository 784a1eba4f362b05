// A layer norm between products is one kernel forward, one for the adjoint of its operand, and one
// over the columns for those of its scale and bias. Each reads and writes 16 bits: what the backward
// pass has of the forward pass is the operand, and mean and deviation of its rows.
// RUN: halfstep-opt %s --phase-grad=loss=mse --phase-precision=precision=autocast --phase-update=optimizer=sgd --phase-kernels | FileCheck %s

// CHECK: kernel.group @micro_[[FORWARD:[a-z0-9_]*]] [64, 32](%{{.*}}: f16[32, 1], %{{.*}}: f32[0, 1], %{{.*}}: f32[0, 1]) -> (f32[1, 0], f32[1, 0], f16[32, 1])
// CHECK-COUNT-3: kernel.reduce add %{{.*}} over last
// CHECK-NOT: kernel.reduce
// CHECK: kernel.group @micro_{{.*}} [2048](
// CHECK: kernel.group @micro_[[COLUMNS:[a-z0-9_]*]] [64, 32](%{{.*}}: f16[32, 1], %{{.*}}: f16[32, 1], %{{.*}}: f32[1, 0], %{{.*}}: f32[1, 0]) -> (f32[0, 1], f32[0, 1])
// CHECK-COUNT-2: kernel.reduce add %{{.*}} over rows
// CHECK: kernel.group @micro_[[ROWS:[a-z0-9_]*]] [64, 32](%{{.*}}: f16[32, 1], %{{.*}}: f16[32, 1], %{{.*}}: f32[0, 1], %{{.*}}: f32[1, 0], %{{.*}}: f32[1, 0]) -> (f16[32, 1])
// CHECK-COUNT-2: kernel.reduce add %{{.*}} over last
// CHECK-NOT: kernel.reduce

// CHECK-LABEL: func.func @micro
// CHECK: %[[H:.*]] = table.gemm
// CHECK: %[[N:.*]]:3 = table.launch @micro_[[FORWARD]](%[[H]],
// CHECK: %[[DY:.*]] = table.gemm {{.*}} {transB}
// CHECK: table.launch @micro_[[COLUMNS]](%[[H]], %[[DY]], %[[N]]#1, %[[N]]#0)
// CHECK: table.launch @micro_[[ROWS]](%[[H]], %[[DY]], %{{.*}}, %[[N]]#1, %[[N]]#0)
// CHECK: return
func.func @forward(%x: tensor<64x32xf32> {train.input = "x"},
                   %w: tensor<32x32xf32> {train.parameter = "w", train.trainable},
                   %s: tensor<32xf32> {train.parameter = "s", train.trainable},
                   %b: tensor<32xf32> {train.parameter = "b", train.trainable},
                   %v: tensor<32x32xf32> {train.parameter = "v", train.trainable})
    -> (tensor<64x32xf32> {train.output = "y"}) {
  %h = train.matmul %x, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %n = train.normalise %h, %s, %b {axes = array<i64: 1>, epsilon = 1.0e-5}
      : (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %y = train.matmul %n, %v : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

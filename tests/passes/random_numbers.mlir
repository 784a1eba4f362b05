// From what a model draws to kernels. Bits and masks are never stored: the backward pass draws the
// forward pass's numbers again, from the seed and counters in the state.
// RUN: halfstep-opt %s --phase-grad="loss=mse" --phase-precision --phase-update="optimizer=sgd accumulate=2" -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: halfstep-opt %t.mlir --phase-kernels --phase-memory | FileCheck %s --check-prefix=PLAN
// RUN: not halfstep-opt %s --phase-grad="loss=mean" --phase-precision --phase-update="optimizer=sgd rounding=stochastic" 2>&1 | FileCheck %s --check-prefix=F32

// CHECK-DAG: table.tensor counter "seed" : tensor<i64>
// CHECK-DAG: table.tensor counter "micro" : tensor<f64>
// CHECK-LABEL: func.func @infer
// CHECK-NOT: train.philox
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[SEED:[^ ]+]]: tensor<i64> {train.state = "seed"}, %[[ITERATION:[^ ]+]]: tensor<f64> {train.state = "iteration"}, %[[MICRO:[^ ]+]]: tensor<f64> {train.state = "micro"}
// CHECK: %[[IOTA:.*]] = train.iota 0 in [32]
// CHECK: %[[ELEMENT:.*]] = train.reshape %[[IOTA]] {sizes = array<i64: 4, 8>}
// CHECK: %[[BITS:.*]] = train.philox %[[ELEMENT]], %[[MICRO]], %[[ITERATION]], %[[SEED]] {stream = 7 : i32}
// CHECK: train.dropout %{{.*}}, %[[BITS]]
// CHECK-NOT: train.philox
// CHECK: train.map(%[[BITS]]
// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: train.philox
// CHECK-LABEL: func.func @update
// CHECK-SAME: {train.updates = "micro"}

// Twice in a kernel of its own, and no launch has a result of bits or of booleans.
// PLAN: kernel.group @micro_{{.*}}philox
// PLAN: kernel.group @micro_{{.*}}philox
// PLAN-LABEL: func.func @micro
// PLAN-NOT: -> {{.*}}xi{{1|32}}>
// PLAN: return

// F32: --rounding stochastic: no trained weight is stored in 16 bits
// F32: it is for --precision half
func.func @forward(%x: tensor<4x64xf32> {train.input = "x"},
                   %w: tensor<8x64xf32> {train.parameter = "w", train.trainable},
                   %v: tensor<100x8xf32> {train.parameter = "v", train.trainable})
    -> (tensor<4x100xf32> {train.output = "y"}) {
  %0 = train.matmul %x, %w {transB = true} : (tensor<4x64xf32>, tensor<8x64xf32>) -> tensor<4x8xf32>
  %1 = train.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %bits = train.random_bits 7 in [4, 8] : tensor<4x8xi32>
  %2 = train.dropout %1, %bits {ratio = 0.5 : f64} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
  %3 = train.matmul %2, %v {transB = true} : (tensor<4x8xf32>, tensor<100x8xf32>) -> tensor<4x100xf32>
  return %3 : tensor<4x100xf32>
}

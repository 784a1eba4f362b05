// What the update phase must not leave.
// RUN: not halfstep-opt %s -split-input-file --verify-phase=phase=update 2>&1 | FileCheck %s

// CHECK: error: the update phase left a module without @infer
// CHECK: note: verify-phase: expected a func.func @infer
func.func @micro() { return }

// -----

func.func @infer() { return }
func.func @evaluate() { return }
// CHECK: error: the update phase left a value that the directory does not have
// CHECK: note: verify-phase: argument 0 of @micro, tensor<f32>, is not in the directory
func.func @micro(%seed: tensor<f32> {train.seed}) { return }
func.func @update() { return }

// -----

table.tensor counter "iteration" : tensor<f64>
func.func @infer() { return }
func.func @evaluate() { return }
func.func @micro() { return }
// CHECK: error: the update phase left a value that the directory does not have
// CHECK: note: verify-phase: result 0 of @update, tensor<f32>, is tensor<f64> in the directory
func.func @update() -> (tensor<f32> {train.updates = "iteration"}) {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @infer() { return }
func.func @evaluate() { return }
func.func @micro() { return }
func.func @update() { return }
// CHECK: error: the update phase left optimizer state of less than 32 bits
// CHECK: note: verify-phase: 'momentum/w' is tensor<4xf16>
table.tensor optimizer "momentum/w" : tensor<4xf16>

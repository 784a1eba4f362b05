// What the phases that still speak of values must not leave: each fault is one message for the user
// and a note for the developer.
// RUN: not halfstep-opt %s -split-input-file --verify-phase=phase=import 2>&1 \
// RUN:   | FileCheck %s --check-prefix=IMPORT
// RUN: not halfstep-opt %s -split-input-file --verify-phase=phase=grad 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GRAD
// RUN: not halfstep-opt %s -split-input-file --verify-phase=phase=precision 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PRECISION
// RUN: echo 'module {}' | not halfstep-opt --verify-phase=phase=drive 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: verify-phase: there is no phase 'drive'

// IMPORT: error: the import phase left a module without @forward
// IMPORT: note: verify-phase: expected a func.func @forward
// IMPORT: note: help: unless somebody has edited the module, this is a fault of halfstep
func.func @main() { return }

// -----

// IMPORT: error: the import phase left an op of a precision category that is none
func.func @forward(%x: tensor<4xf32> {train.input = "x"}) -> (tensor<4xf32> {train.output = "y"}) {
  %0 = train.tanh %x {train.category = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// IMPORT: error: the import phase left a shape that is not static
// IMPORT: note: verify-phase: argument 0 of @forward is tensor<?xf32>
func.func @forward(%x: tensor<?xf32>) { return }

// -----

func.func @forward(%x: tensor<4xf32> {train.input = "x"}) -> (tensor<4xf32> {train.output = "y"}) {
  // IMPORT: error: the import phase left an op that is not one of the train dialect
  // IMPORT: note: verify-phase: 'arith.addf'
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32> {train.input = "x"}) -> (tensor<4xf32> {train.output = "y"}) {
  // IMPORT: error: the import phase left an op that belongs to no node of the file
  // IMPORT: note: verify-phase: 'train.relu' has an unknown location
  %0 = train.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc(unknown)
  return %0 : tensor<4xf32>
}

// -----

// IMPORT: error: the import phase left a value that does not say what it is
// IMPORT: note: verify-phase: argument 0 of @forward must have one of train.input, train.parameter
func.func @forward(%x: tensor<4xf32>) { return }

// -----

// A name is a string, and an argument is one thing.
// IMPORT: error: the import phase left a value that does not say what it is
// IMPORT: note: verify-phase: argument 0 of @forward must have one of
func.func @forward(%x: tensor<4xf32> {train.parameter}) { return }

// -----

// IMPORT: error: the import phase left a value that does not say what it is
// IMPORT: note: verify-phase: argument 0 of @forward must have one of
func.func @forward(%x: tensor<4xf32> {train.parameter = "x", train.input = "x"}) { return }

// -----

// IMPORT: error: the import phase left a value that does not say what it is
// IMPORT: note: verify-phase: result 0 of @forward must have one of train.output
func.func @forward(%x: tensor<4xf32> {train.input = "x"}) -> (tensor<4xf32> {train.metric = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// IMPORT: error: the import phase left a trained value that is no parameter
// IMPORT: note: verify-phase: argument 0 of @forward
func.func @forward(%x: tensor<4xf32> {train.input = "x", train.trainable}) { return }

// -----

// IMPORT: error: the import phase left a function that is no list of ops
// IMPORT: note: verify-phase: @forward must have one block
func.func private @forward()

// -----

func.func @forward() -> (tensor<2xf32> {train.output = "y"}) {
  // IMPORT: error: the import phase left a constant that is not one number
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// GRAD: error: the grad phase left a backward pass without loss or seed
func.func @forward() { return }
func.func @evaluate() { return }
func.func @micro(%x: tensor<f32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  return %x : tensor<f32>
}

// -----

// GRAD: error: the grad phase left a backward pass without loss or seed
func.func @forward() { return }
func.func @evaluate() { return }
func.func @micro(%seed: tensor<f32> {train.seed}) { return }

// -----

// GRAD: error: the grad phase left a loss that is not a number of f32 or f64
// GRAD: note: verify-phase: result 0 of @micro is tensor<4xf32>
func.func @forward() { return }
func.func @evaluate() { return }
func.func @micro(%x: tensor<4xf32> {train.input = "x"}, %seed: tensor<f32> {train.seed})
    -> (tensor<4xf32> {train.metric = "loss"}) {
  return %x : tensor<4xf32>
}

// -----

// GRAD: error: the grad phase left a gradient that no trained parameter has
// GRAD: note: verify-phase: result 1 of @micro, of 'w', is tensor<3xf32>
func.func @forward() { return }
func.func @evaluate() { return }
func.func @micro(%w: tensor<4xf32> {train.parameter = "w", train.trainable},
                 %x: tensor<3xf32> {train.input = "x"}, %seed: tensor<f32> {train.seed})
    -> (tensor<f32> {train.metric = "loss"}, tensor<3xf32> {train.gradient = "w"}) {
  return %seed, %x : tensor<f32>, tensor<3xf32>
}

// -----

// GRAD: error: the grad phase left a trained parameter without gradient
// GRAD: note: verify-phase: @micro has no result train.gradient = "w"
// PRECISION: error: the precision phase left a trained parameter without gradient
func.func @forward() { return }
func.func @evaluate() { return }
func.func @micro(%w: tensor<4xf32> {train.parameter = "w", train.trainable},
                 %seed: tensor<f32> {train.seed}) -> (tensor<f32> {train.metric = "loss"}) {
  return %seed : tensor<f32>
}

// -----

// The 16-bit copy of a parameter is trained under the parameter's name.
// PRECISION: error: the precision phase left a trained parameter without gradient
// PRECISION: note: verify-phase: @micro has no result train.gradient = "w"
func.func @forward() { return }
func.func @evaluate() { return }
func.func @micro(%w: tensor<4xf16> {train.copy = "w", train.trainable},
                 %seed: tensor<f32> {train.seed}) -> (tensor<f32> {train.metric = "loss"}) {
  return %seed : tensor<f32>
}

// -----

func.func @forward() { return }
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf16>) -> tensor<4xf32> {
  // Integers and booleans beside one float type are no mixture, casts are what casts are for, and
  // inside a map the formula computes in whatever types it needs.
  %0 = train.compare lt %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = train.cast %y to f32 : (tensor<4xf16>) -> tensor<4xf32>
  %2 = train.map(%0, %1) {
  ^bb0(%c: i1, %a: f32):
    %wide = arith.extf %a : f32 to f64
    %narrow = arith.truncf %wide : f64 to f32
    train.yield %narrow : f32
  } : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xf32>
  // PRECISION: error: the precision phase left an op that mixes float types
  // PRECISION: note: verify-phase: 'train.map' has f32 and f16; types change in train.cast only
  %3 = train.map(%2, %y) {
  ^bb0(%a: f32, %b: f32):
    train.yield %a : f32
  } : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

func.func @forward() { return }
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // PRECISION: error: the precision phase left an adjoint
  %0 = train.adjoint(%x) of %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

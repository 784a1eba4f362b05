// What parts are refused, and in which words.
// RUN: halfstep-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  // expected-error@+2 {{has a part of sizes [4x3] at offsets [0x4] and strides [1x1] that does not lie in [4x6]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.slice %x {offsets = array<i64: 0, 4>, strides = array<i64: 1, 1>, sizes = array<i64: 4, 3>}
      : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

func.func @f(%x: tensor<6xf32>) -> tensor<3xf32> {
  // expected-error@+2 {{has a part of sizes [3] at offsets [3] and strides [-2]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.slice %x {offsets = array<i64: 3>, strides = array<i64: -2>, sizes = array<i64: 3>}
      : (tensor<6xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @f(%x: tensor<6xf32>) -> tensor<3xf32> {
  // expected-error@+2 {{needs an offset, a stride and a size for each of 1 dimensions}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.slice %x {offsets = array<i64: 3, 0>, strides = array<i64: 1>, sizes = array<i64: 3>}
      : (tensor<6xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @f(%x: tensor<6xf32>) -> tensor<3xf32> {
  // expected-error@+2 {{at offsets [0] and strides [9223372036854775807]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.slice %x {offsets = array<i64: 0>, strides = array<i64: 9223372036854775807>, sizes = array<i64: 3>}
      : (tensor<6xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @f(%x: tensor<3xf32>, %v: tensor<f32>) -> tensor<6xf32> {
  // expected-error@+2 {{has a part of sizes [3] at offsets [4] and strides [1] that does not lie in [6]}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.pad %x, %v {offsets = array<i64: 4>, strides = array<i64: 1>, sizes = array<i64: 6>}
      : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @f(%x: tensor<3xf32>, %v: tensor<1xf32>) -> tensor<6xf32> {
  // expected-error@+2 {{needs a scalar of type f32 to pad with, not tensor<1xf32>}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.pad %x, %v {offsets = array<i64: 0>, strides = array<i64: 1>, sizes = array<i64: 6>}
      : (tensor<3xf32>, tensor<1xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @f(%x: tensor<3x2xf32>, %z: tensor<3x3xf32>) -> tensor<6x2xf32> {
  // expected-error@+2 {{cannot join tensor<3x2xf32> and tensor<3x3xf32> along dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.concat %x, %z {axis = 0 : i64} : (tensor<3x2xf32>, tensor<3x3xf32>) -> tensor<6x2xf32>
  return %y : tensor<6x2xf32>
}

// -----

func.func @f(%x: tensor<3xi32>, %z: tensor<3xi64>) -> tensor<6xi32> {
  // expected-error@+2 {{cannot join tensor<3xi32> and tensor<3xi64> along dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.concat %x, %z {axis = 0 : i64} : (tensor<3xi32>, tensor<3xi64>) -> tensor<6xi32>
  return %y : tensor<6xi32>
}

// -----

func.func @f() -> tensor<6xi32> {
  // expected-error@+2 {{needs an operand}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.concat {axis = 0 : i64} : () -> tensor<6xi32>
  return %y : tensor<6xi32>
}

// -----

func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+2 {{axis 1 is not a dimension of a tensor of rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.concat %x {axis = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @f(%x: tensor<3xf32>, %into: tensor<5xf32>) -> tensor<6xf32> {
  // expected-error@+2 {{writes into tensor<5xf32>, not tensor<6xf32>}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.insert %x, %into {offsets = array<i64: 0>, strides = array<i64: 1>, sizes = array<i64: 6>}
      : (tensor<3xf32>, tensor<5xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{must keep the element type and lie within its source}}
  %y = table.alias %x {offset = 5 : i64} : (tensor<8xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// A product's bias has its columns, and its workspace is bytes that nobody reads.
// RUN: halfstep-opt %s -split-input-file -verify-diagnostics

func.func @bias(%a: tensor<4x3xf32>, %b: tensor<3x2xf32>, %bias: tensor<4xf32>) {
  // expected-error@+1 {{needs a bias with an element for each column, not 'tensor<4xf32>'}}
  %c = table.gemm %a, %b, %bias : (tensor<4x3xf32>, tensor<3x2xf32>, tensor<4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @workspace(%a: tensor<4x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{needs a workspace of bytes, not of 'tensor<64xf32>'}}
  %c, %workspace = table.gemm %a, %b : (tensor<4x3xf32>, tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<64xf32>)
  return
}

// -----

func.func @read(%a: tensor<4x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{has a workspace that is read}}
  %c, %workspace = table.gemm %a, %b : (tensor<4x3xf32>, tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<64xi8>)
  %copy = table.copy %workspace : (tensor<64xi8>) -> tensor<64xi8>
  return
}

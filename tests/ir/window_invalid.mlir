// What a window may not be.
// RUN: halfstep-opt %s --split-input-file --verify-diagnostics

func.func @channels(%x: tensor<1x4x5x5xf32>, %w: tensor<2x3x3x3xf32>) {
  // expected-error@+2 {{'train.conv' cannot share 4 channels out to 2 filters of 3 channels in 1 groups}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64} : (tensor<1x4x5x5xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @extent(%x: tensor<1x4x5x5xf32>) {
  // expected-error@+2 {{'train.max_pool' has a window of 7 points for a padded size of 6}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.max_pool %x {kernel = array<i64: 4, 4>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads = array<i64: 0, 0, 1, 0>} : (tensor<1x4x5x5xf32>) -> tensor<1x4x1x2xf32>
  return
}

// -----

func.func @huge(%x: tensor<1x4x5x5xf32>) {
  // expected-error@+2 {{below 2^31}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.max_pool %x {kernel = array<i64: 4, 4>, strides = array<i64: 1, 1>, dilations = array<i64: 9223372036854775807, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x5x5xf32>) -> tensor<1x4x1x2xf32>
  return
}

// -----

func.func @counted(%x: tensor<1x4x5xf32>) {
  // expected-error@+2 {{'train.average_pool' counts padding that it does not have}}
  // expected-error@+1 {{failed to infer returned types}}
  %y = train.average_pool %x {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, countedPads = array<i64: 1, 0>} : (tensor<1x4x5xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @adjoint(%dy: tensor<1x2x3x3xf32>, %w: tensor<2x4x3x3xf32>) {
  // expected-error@+2 {{'train.conv_input_gradient' has a dy that is not of the shape of the convolution}}
  // expected-error@+1 {{failed to infer returned types}}
  %x = train.conv_input_gradient %dy, %w {sizes = array<i64: 6, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64} : (tensor<1x2x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x6x5xf32>
  return
}

// -----

func.func @entry(%x: tensor<1x4x5x5xf32>, %dy: tensor<1x2x3x3xf32>) {
  // expected-error@+1 {{'table.conv' op has a y of another shape}}
  %w = table.conv weight_gradient %dy, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64} : (tensor<1x2x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<3x2x4x3x3xf32>
  return
}

// -----

func.func @operands(%x: tensor<1x4x5x5xf32>) {
  // expected-error@+1 {{'table.pool' op needs x and dy}}
  %dx = table.pool max_gradient %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, countedPads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  return
}

// What plan-memory refuses: only a fault of an earlier phase, or a hand-written module, can cause it.
// RUN: halfstep-opt %s --plan-memory -split-input-file -verify-diagnostics

// expected-error@+1 {{plan-memory: argument 0 of @infer names nothing that the directory has}}
func.func @infer(%x: tensor<f32> {train.input = "x"}) {
  return
}

// -----

table.tensor input "x" : tensor<2xf32>
// expected-error@+1 {{plan-memory: argument 0 of @infer is 'tensor<f32>', but the directory has 'tensor<2xf32>'}}
func.func @infer(%x: tensor<f32> {train.input = "x"}) {
  return
}

// -----

// A counter's name is no parameter's: the result names nothing.
table.tensor parameter "w" : tensor<f32>
// expected-error@+1 {{plan-memory: result 0 of @update updates nothing that the directory has}}
func.func @update(%w: tensor<f32> {train.parameter = "w"}) -> (tensor<f32> {train.updates = "w"}) {
  %0 = table.zero : tensor<f32>
  return %0 : tensor<f32>
}

// -----

table.tensor counter "a" : tensor<2xf32>
// expected-error@+1 {{plan-memory: result 0 of @update is 'tensor<f32>', but the directory has 'tensor<2xf32>'}}
func.func @update() -> (tensor<f32> {train.updates = "a"}) {
  %0 = table.zero : tensor<f32>
  return %0 : tensor<f32>
}

// -----

table.region "gradients" : tensor<64xf32>
table.tensor gradient "w" : tensor<2xf32> {region = "gradients", regionOffset = 8}
// expected-error@+1 {{plan-memory: result 1 of @micro updates what another result updates}}
func.func @micro() -> (tensor<2xf32> {train.gradient = "w"},
                       tensor<64xf32> {train.updates_region = "gradients"}) {
  %0 = table.zero : tensor<2xf32>
  %1 = table.zero : tensor<64xf32>
  return %0, %1 : tensor<2xf32>, tensor<64xf32>
}

// -----

table.region "gradients" : tensor<64xf32>
// expected-error@+1 {{does not lie in a region of the directory}}
table.tensor gradient "w" : tensor<2xf32> {region = "gradients", regionOffset = 252}

// -----

// expected-error@+1 {{does not lie in a region of the directory}}
table.tensor gradient "w" : tensor<2xf32> {region = "gradients", regionOffset = 0}

// -----

// expected-error@+1 {{works in place already: its memory is planned}}
kernel.group @relu [8](%x: f32[1]) -> (%x) {
  kernel.yield %x : f32
}
table.tensor input "x" : tensor<8xf32>
func.func @infer(%x: tensor<8xf32> {train.input = "x"}) {
  %y = table.launch @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

table.tensor input "x" : tensor<1x1x5000000xf32>
table.tensor parameter "w" : tensor<1x1x5000000xf32>
func.func @infer(%x: tensor<1x1x5000000xf32> {train.input = "x"},
                 %w: tensor<1x1x5000000xf32> {train.parameter = "w"}) {
  // expected-error@+1 {{needs 20000768 bytes of scratch memory of each thread, of which there are 16777216}}
  %y = table.conv forward %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads = array<i64: 0, 0>, groups = 1 : i64}
      : (tensor<1x1x5000000xf32>, tensor<1x1x5000000xf32>) -> tensor<1x1x1xf32>
  return
}

// Small kernels that follow each other and touch no bytes of each other are one launch.
// RUN: halfstep-opt %s -split-input-file --join-launches --verify-phase=phase=memory | FileCheck %s

module attributes {halfstep.state_bytes = 256, halfstep.arena_bytes = 512, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  table.tensor counter "a" : tensor<16xf32> {slice = #table.slice<0, 0, 64>}
  table.tensor counter "b" : tensor<16xf32> {slice = #table.slice<0, 64, 64>}
  kernel.group @negate [16](%x: f32[1]) -> (f32[1]) {
    %y = arith.negf %x : f32
    kernel.yield %y : f32
  }
  kernel.group @in_place [16](%x: f32[1]) -> (%x) {
    %y = arith.negf %x : f32
    kernel.yield %y : f32
  }
  kernel.contract @product [1, 4, 4, 4] f32(a [16, 4, 1], b [16, 4, 1]) -> c [16, 4, 1]

  // A read that both share, a product, and state that is computed in place.
  // CHECK:       kernel.join @negate_joined [@negate, @product, @in_place]
  // CHECK-LABEL: func.func @update(
  // CHECK-NEXT:    %[[R:.*]]:3 = table.launch @negate_joined(%arg0, %arg0, %arg0, %arg1)
  // CHECK-SAME:      {slices = [#table.slice<0, 0, 64>, #table.slice<0, 0, 64>, #table.slice<0, 0, 64>, #table.slice<0, 64, 64>,
  // CHECK-SAME:                 #table.slice<1, 0, 64>, #table.slice<1, 64, 64>, #table.slice<0, 64, 64>]}
  // Two of these depend on the launch before; the copy between ends a run.
  // CHECK-NEXT:    table.launch @negate(%[[R]]#0)
  // CHECK-NEXT:    table.copy
  // CHECK-NEXT:    table.launch @negate(%[[R]]#1)
  // CHECK-NEXT:    return %arg0, %[[R]]#2
  func.func @update(%a: tensor<16xf32> {train.state = "a"}, %b: tensor<16xf32> {train.state = "b"})
      -> (tensor<16xf32> {train.updates = "a"}, tensor<16xf32> {train.updates = "b"}) {
    %0 = table.launch @negate(%a) {slices = [#table.slice<0, 0, 64>, #table.slice<1, 0, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    %1 = table.launch @product(%a, %a) {slices = [#table.slice<0, 0, 64>, #table.slice<0, 0, 64>, #table.slice<1, 64, 64>]} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %2 = table.launch @in_place(%b) {slices = [#table.slice<0, 64, 64>, #table.slice<0, 64, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    %3 = table.launch @negate(%0) {slices = [#table.slice<1, 0, 64>, #table.slice<1, 128, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    %4 = table.copy %a {slices = [#table.slice<0, 0, 64>, #table.slice<1, 192, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    %5 = table.launch @negate(%1) {slices = [#table.slice<1, 64, 64>, #table.slice<1, 256, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    return %a, %2 : tensor<16xf32>, tensor<16xf32>
  }
}

// -----

// The second result takes the place of what the first kernel reads, the third that of the second.
// CHECK-NOT: kernel.join
module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 128, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  kernel.group @negate [16](%x: f32[1]) -> (f32[1]) {
    %y = arith.negf %x : f32
    kernel.yield %y : f32
  }
  kernel.group @one [16]() -> (f32[1]) {
    %y = arith.constant 1.0 : f32
    kernel.yield %y : f32
  }
  func.func @infer() {
    %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
    %1 = table.launch @negate(%0) {slices = [#table.slice<1, 0, 64>, #table.slice<1, 64, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    %2 = table.launch @one() {slices = [#table.slice<1, 0, 64>]} : () -> tensor<16xf32>
    %3 = table.launch @one() {slices = [#table.slice<1, 0, 64>]} : () -> tensor<16xf32>
    return
  }
}

// -----

// Together they would move more than 1 MiB.
// CHECK-NOT: kernel.join
module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 1048640, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  kernel.group @ones [131072]() -> (f32[1]) {
    %y = arith.constant 1.0 : f32
    kernel.yield %y : f32
  }
  kernel.group @more_ones [131088]() -> (f32[1]) {
    %y = arith.constant 1.0 : f32
    kernel.yield %y : f32
  }
  func.func @infer() {
    %0 = table.launch @ones() {slices = [#table.slice<1, 0, 524288>]} : () -> tensor<131072xf32>
    %1 = table.launch @more_ones() {slices = [#table.slice<1, 524288, 524352>]} : () -> tensor<131088xf32>
    return
  }
}

// -----

// A block has one row of 1025 numbers, and fewer threads than other blocks.
// CHECK-NOT: kernel.join
module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 4352, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  kernel.group @long_row [1, 1025](%x: f32[1025, 1]) -> (f32[1, 0]) {
    %sum = kernel.reduce add %x over last : f32
    kernel.yield %sum : f32
  }
  func.func @infer() {
    %0 = table.zero {slices = [#table.slice<1, 0, 4100>]} : tensor<1025xf32>
    %1 = table.launch @long_row(%0) {slices = [#table.slice<1, 0, 4100>, #table.slice<1, 4160, 4>]} : (tensor<1025xf32>) -> tensor<1xf32>
    %2 = table.launch @long_row(%0) {slices = [#table.slice<1, 0, 4100>, #table.slice<1, 4224, 4>]} : (tensor<1025xf32>) -> tensor<1xf32>
    return
  }
}

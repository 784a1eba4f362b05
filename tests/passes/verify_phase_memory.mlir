// What the memory phase must not leave: a read that does not find the value that it names.
// RUN: not halfstep-opt %s -split-input-file --verify-phase=phase=memory 2>&1 | FileCheck %s

// CHECK: error: the memory phase left no sizes of its buffers
module {}

// -----

// CHECK: error: the memory phase left sizes of buffers that none can have
module attributes {halfstep.state_bytes = 64, halfstep.arena_bytes = 0, halfstep.scratch_bytes = 0, halfstep.input_slots = -1} {}

// -----

// CHECK: error: the memory phase left a function that is no list of ops
module attributes {halfstep.state_bytes = 64, halfstep.arena_bytes = 0, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  func.func private @micro()
}

// -----

// CHECK: error: the memory phase left a named tensor without its memory
// CHECK: note: verify-phase: a in #table.slice<0, 0, 4>
module attributes {halfstep.state_bytes = 64, halfstep.arena_bytes = 0, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  table.tensor counter "a" : tensor<f64> {slice = #table.slice<0, 0, 4>}
}

// -----

// CHECK: error: the memory phase left state beyond the end of its buffer
module attributes {halfstep.state_bytes = 64, halfstep.arena_bytes = 0, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  table.tensor counter "a" : tensor<f64> {slice = #table.slice<0, 60, 8>}
}

// -----

// CHECK: error: the memory phase left state that shares its memory
// CHECK: note: verify-phase: b in #table.slice<0, 4, 8>
module attributes {halfstep.state_bytes = 64, halfstep.arena_bytes = 0, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  table.tensor counter "a" : tensor<f64> {slice = #table.slice<0, 0, 8>}
  table.tensor counter "b" : tensor<f64> {slice = #table.slice<0, 4, 8>}
}

// -----

// CHECK: error: the memory phase left a tensor outside of its region
module attributes {halfstep.state_bytes = 128, halfstep.arena_bytes = 0, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  table.region "parameters" : tensor<16xf32> {slice = #table.slice<0, 0, 64>}
  table.tensor parameter "w" : tensor<16xf32> {region = "parameters", slice = #table.slice<0, 64, 64>}
}

// -----

module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 64, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  func.func @infer() {
    // CHECK: error: the memory phase left an entry without its memory
    // CHECK: note: verify-phase: 'table.zero' needs 1 slices
    %0 = table.zero : tensor<16xf32>
    return
  }
}

// -----

module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 128, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  func.func @infer() {
    %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
    %1 = table.zero {slices = [#table.slice<1, 32, 64>]} : tensor<16xf32>
    // CHECK: error: the memory phase left a value that is overwritten before it is read
    // CHECK: note: verify-phase: operand 0 in #table.slice<1, 0, 64>, overwritten by 'table.zero'
    %2 = table.copy %0 {slices = [#table.slice<1, 0, 64>, #table.slice<1, 64, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    return
  }
}

// -----

module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 128, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  func.func @infer() {
    %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
    // CHECK: error: the memory phase left a value that is read where it is not
    // CHECK: note: verify-phase: operand 0 is in #table.slice<1, 0, 64>, read from #table.slice<1, 64, 64>
    %1 = table.copy %0 {slices = [#table.slice<1, 64, 64>, #table.slice<1, 0, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    return
  }
}

// -----

module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 64, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  func.func @infer() {
    // CHECK: error: the memory phase left a slice beyond the end of its buffer
    %0 = table.zero {slices = [#table.slice<1, 4, 64>]} : tensor<16xf32>
    return
  }
}

// -----

module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 64, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  func.func @infer() {
    // CHECK: error: the memory phase left a slice of the wrong size
    %0 = table.zero {slices = [#table.slice<1, 0, 60>]} : tensor<16xf32>
    return
  }
}

// -----

module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 64, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  func.func @infer() {
    // CHECK: error: the memory phase left an input that is written to
    %0 = table.zero {slices = [#table.slice<2, 0, 64>]} : tensor<16xf32>
    return
  }
}

// -----

// In place without the kernel's knowledge.
module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 128, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  kernel.group @relu [16](%x: f32[1]) -> (f32[1]) {
    kernel.yield %x : f32
  }
  func.func @infer() {
    %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
    // CHECK: error: the memory phase left a kernel that overwrites what it reads or writes
    %1 = table.launch @relu(%0) {slices = [#table.slice<1, 0, 64>, #table.slice<1, 0, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    return
  }
}

// -----

// A kernel in place, its slices apart.
module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 128, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  kernel.group @relu [16](%x: f32[1]) -> (%x) {
    kernel.yield %x : f32
  }
  func.func @infer() {
    %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
    // CHECK: error: the memory phase left a result that is not where its kernel computes it
    %1 = table.launch @relu(%0) {slices = [#table.slice<1, 0, 64>, #table.slice<1, 64, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    return
  }
}

// -----

// The old value of state is read behind the entry that overwrites it.
module attributes {halfstep.state_bytes = 64, halfstep.arena_bytes = 64, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  table.tensor counter "a" : tensor<16xf32> {slice = #table.slice<0, 0, 64>}
  func.func @update(%a: tensor<16xf32> {train.state = "a"}) -> (tensor<16xf32> {train.updates = "a"}) {
    %0 = table.zero {slices = [#table.slice<0, 0, 64>]} : tensor<16xf32>
    // CHECK: error: the memory phase left a value that is overwritten before it is read
    %1 = table.copy %a {slices = [#table.slice<0, 0, 64>, #table.slice<1, 0, 64>]} : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// The new value of state is not in the state.
module attributes {halfstep.state_bytes = 64, halfstep.arena_bytes = 64, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  table.tensor counter "a" : tensor<16xf32> {slice = #table.slice<0, 0, 64>}
  // CHECK: error: the memory phase left a result that is not where it belongs
  // CHECK: note: verify-phase: result 0 of @update in #table.slice<1, 0, 64>, expected in #table.slice<0, 0, 64>
  func.func @update() -> (tensor<16xf32> {train.updates = "a"}) {
    %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// Half of the patches, [8 * 3, 256] in f64.
// CHECK: error: the memory phase left other scratch memory than its entries need
// CHECK: note: verify-phase: they need 49152 bytes of a thread, it has 24576
module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 0, halfstep.scratch_bytes = 24576, halfstep.input_slots = 1} {
  func.func @infer(%x: tensor<1x8x256xf64>, %w: tensor<1x8x3xf64>) {
    %y = table.conv forward %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
        pads = array<i64: 1, 1>, groups = 1 : i64}
        : (tensor<1x8x256xf64>, tensor<1x8x3xf64>) -> tensor<1x1x256xf64>
    return
  }
}

// -----

module attributes {halfstep.state_bytes = 0, halfstep.arena_bytes = 192, halfstep.scratch_bytes = 0, halfstep.input_slots = 1} {
  // CHECK: error: the memory phase left a workspace where no library takes it
  // CHECK: note: verify-phase: result 1 in #table.slice<1, 64, 64>
  func.func @infer() {
    %a = table.zero {slices = [#table.slice<1, 128, 64>]} : tensor<4x4xf32>
    %c, %workspace = table.gemm %a, %a {slices = [#table.slice<1, 128, 64>, #table.slice<1, 128, 64>, #table.slice<1, 0, 64>, #table.slice<1, 64, 64>]}
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<64xi8>)
    return
  }
}

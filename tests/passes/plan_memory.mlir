// The state's layout, inputs as buffers of their own, and an arena that values share over time.
// RUN: halfstep-opt %s --plan-memory --verify-phase=phase=memory | FileCheck %s
// RUN: halfstep-opt %s --plan-memory=reuse=false --verify-phase=phase=memory \
// RUN:   | FileCheck %s --check-prefix=APART

// CHECK: module attributes {halfstep.arena_bytes = 336 : i64, halfstep.input_slots = 2 : i64, halfstep.scratch_bytes = 0 : i64, halfstep.state_bytes = 576 : i64}
// APART: module attributes {halfstep.arena_bytes = 592 : i64, halfstep.input_slots = 2 : i64, halfstep.scratch_bytes = 0 : i64, halfstep.state_bytes = 576 : i64}
module {
  // The regions come first, aligned to 256 bytes; what lies in one is at its offset there;
  // everything else is aligned to 64.
  // CHECK: table.tensor counter "iteration" : tensor<f64> {slice = #table.slice<0, 448, 8>}
  table.tensor counter "iteration" : tensor<f64>
  // CHECK: table.region "parameters" : tensor<40xf32> {slice = #table.slice<0, 0, 160>}
  table.region "parameters" : tensor<40xf32>
  // CHECK: table.tensor parameter "w" {{.*}} slice = #table.slice<0, 0, 128>
  table.tensor parameter "w" : tensor<4x8xf32> {region = "parameters", regionOffset = 0, trainable}
  // CHECK: table.tensor parameter "b" {{.*}} slice = #table.slice<0, 128, 16>
  table.tensor parameter "b" : tensor<4xf32> {region = "parameters", regionOffset = 128, trainable}
  // CHECK: table.region "gradients" : tensor<40xf32> {slice = #table.slice<0, 256, 160>}
  table.region "gradients" : tensor<40xf32>
  // CHECK: table.tensor gradient "b" {{.*}} slice = #table.slice<0, 384, 16>
  table.tensor gradient "b" : tensor<4xf32> {region = "gradients", regionOffset = 128}
  // CHECK: table.tensor parameter "frozen" {{.*}}slice = #table.slice<0, 512, 8>
  table.tensor parameter "frozen" : tensor<1xi64>
  // CHECK: table.tensor input "x" {{.*}}slice = #table.slice<2, 0, 512>
  table.tensor input "x" : tensor<16x8xf32>
  // CHECK: table.tensor label "label" {{.*}}slice = #table.slice<3, 0, 256>
  table.tensor label "label" : tensor<16x4xf32>
  // CHECK: table.tensor output "y" {{.*}}slice = #table.slice<1, 0, 256>
  table.tensor output "y" : tensor<16x4xf32>
  // CHECK: table.tensor metric "loss" {{.*}}slice = #table.slice<1, 0, 4>
  table.tensor metric "loss" : tensor<f32>

  // A value lives from its entry to its last reader, and a view of it is the value:
  //   %a 256 bytes, entries 0 to 1    %b 64, 1 to 3    %c 16, 2 to 3    %y 256, 3 to the end
  //   at 0                            at 256           at 320           at 0
  // CHECK-LABEL: func.func @infer
  // APART-LABEL: func.func @infer
  func.func @infer(%x: tensor<16x8xf32> {train.input = "x"},
                   %w: tensor<4x8xf32> {train.parameter = "w"})
      -> (tensor<16x4xf32> {train.output = "y"}) {
    // CHECK-NEXT: table.gemm %arg0, %arg1 {slices = [#table.slice<2, 0, 512>, #table.slice<0, 0, 128>, [[A:#table.slice<1, 0, 256>]]], transB}
    // APART-NEXT: table.gemm {{.*}}, #table.slice<1, 0, 256>], transB}
    %a = table.gemm %x, %w {transB} : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
    // CHECK-NEXT: table.gemm {{.*}} {slices = {{\[}}[[A]], [[A]], [[B:#table.slice<1, 256, 64>]]], transA}
    // APART-NEXT: table.gemm {{.*}}, #table.slice<1, 512, 64>], transA}
    %b = table.gemm %a, %a {transA} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: table.alias
    %view = table.alias %b : (tensor<4x4xf32>) -> tensor<16x1xf32>
    // CHECK-NEXT: table.zero {slices = {{\[}}[[C:#table.slice<1, 320, 16>]]]}
    // APART-NEXT: table.alias
    // APART-NEXT: table.zero {slices = [#table.slice<1, 576, 16>]}
    %c = table.zero : tensor<1x4xf32>
    // CHECK-NEXT: table.gemm {{.*}} {slices = {{\[}}[[B]], [[C]], #table.slice<1, 0, 256>]}
    // APART-NEXT: table.gemm {{.*}} #table.slice<1, 256, 256>]}
    %y = table.gemm %view, %c : (tensor<16x1xf32>, tensor<1x4xf32>) -> tensor<16x4xf32>
    return %y : tensor<16x4xf32>
  }
  func.func @evaluate(%label: tensor<16x4xf32> {train.label})
      -> (tensor<f32> {train.metric = "loss"}) {
    %loss = table.launch @sum(%label) : (tensor<16x4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  kernel.group @sum [64](%x: f32[1]) -> (f32[0]) {
    %s = kernel.reduce add %x over last : f32
    kernel.yield %s : f32
  }
}

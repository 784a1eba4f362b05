// Scratch memory of a thread: what the most demanding entry of any program needs, in whole pages.
// RUN: halfstep-opt %s --plan-memory --verify-phase=phase=memory -split-input-file | FileCheck %s
// RUN: halfstep-opt %s --plan-memory=target=sm_80 --verify-phase=phase=memory -split-input-file | FileCheck %s --check-prefix=DEVICE

// DEVICE-COUNT-3: halfstep.scratch_bytes = 0 : i64

// Patches alone, [8 * 3 * 3, 16 * 16] in f32.
// CHECK: module attributes {{.*}}halfstep.scratch_bytes = 73728 : i64
module {
  table.tensor input "x" : tensor<1x8x16x16xf32>
  table.tensor parameter "w" : tensor<8x8x3x3xf32>
  func.func @infer(%x: tensor<1x8x16x16xf32> {train.input = "x"},
                   %w: tensor<8x8x3x3xf32> {train.parameter = "w"}) {
    %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
        pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
        : (tensor<1x8x16x16xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x16x16xf32>
    return
  }
}

// -----

// In 16 bits outputs and filters besides, 18432 + 2048 + 576 numbers; the product of @infer needs
// 2 * 64 * 64 + 65 * 64 numbers.
// CHECK: module attributes {{.*}}halfstep.scratch_bytes = 86016 : i64
module {
  table.tensor input "x" : tensor<1x8x16x16xbf16>
  table.tensor input "a" : tensor<64x64xf16>
  table.tensor parameter "w" : tensor<8x8x3x3xbf16>
  func.func @evaluate(%x: tensor<1x8x16x16xbf16> {train.input = "x"},
                      %w: tensor<8x8x3x3xbf16> {train.parameter = "w"}) {
    %y = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
        pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
        : (tensor<1x8x16x16xbf16>, tensor<8x8x3x3xbf16>) -> tensor<1x8x16x16xbf16>
    return
  }
  func.func @infer(%a: tensor<64x64xf16> {train.input = "a"}) {
    %y = table.gemm %a, %a : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    return
  }
}

// -----

// 12352 numbers.
// CHECK: module attributes {{.*}}halfstep.scratch_bytes = 53248 : i64
module {
  table.tensor input "a" : tensor<64x64xf16>
  func.func @infer(%a: tensor<64x64xf16> {train.input = "a"}) {
    %y = table.gemm %a, %a : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    return
  }
}

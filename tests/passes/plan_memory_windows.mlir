// What an entry of its own computes is never in the place of what it reads, though that dies there
// and is as large.
// RUN: halfstep-opt %s --plan-memory --verify-phase=phase=memory | FileCheck %s

table.tensor input "x" : tensor<1x2x4x4xf32>
table.tensor output "y" : tensor<1x2x4x4xf32>
table.tensor parameter "w" : tensor<2x2x1x1xf32>
// CHECK: table.conv forward {{.*}}slices = [#table.slice<2, 0, 128>, #table.slice<0, 0, 16>, #table.slice<1, [[A:[0-9]+]], 128>]
// CHECK: table.pool max {{.*}}slices = [#table.slice<1, [[A]], 128>, #table.slice<1, [[B:[0-9]+]], 128>]
// CHECK: table.conv forward {{.*}}slices = [#table.slice<1, [[B]], 128>, #table.slice<0, 0, 16>, #table.slice<1, [[A]], 128>]
func.func @infer(%x: tensor<1x2x4x4xf32> {train.input = "x"},
                 %w: tensor<2x2x1x1xf32> {train.parameter = "w"})
    -> (tensor<1x2x4x4xf32> {train.output = "y"}) {
  %a = table.conv forward %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = table.pool max %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
      countedPads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = table.conv forward %b, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}

// A region of convolutions, poolings and what connects them has one layout, the one that costs less
// or the one that is asked for.
// RUN: halfstep-opt %s --assign-layout | FileCheck %s
// RUN: halfstep-opt %s --assign-layout=layout=channels-last | FileCheck %s --check-prefix=LAST
// RUN: halfstep-opt %s --assign-layout=layout=channels-first | FileCheck %s --check-prefix=FIRST

// FIRST-NOT: channelsLast

// Many channels on small images: all in one region, transposed where it begins and ends; the filters
// are copied once for both convolutions that read them.
// CHECK-LABEL: func.func @deep
// CHECK-SAME: %[[X:[^:]+]]: tensor<8x64x14x14xf32>, %[[W:[^:]+]]: tensor<64x64x3x3xf32>, %[[B:[^:]+]]: tensor<64xf32>
// CHECK: %[[WT:.*]] = train.transpose %[[W]] {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: %[[WL:.*]] = train.map(%[[WT]])
// CHECK: %[[XT:.*]] = train.transpose %[[X]] {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: %[[XL:.*]] = train.map(%[[XT]])
// CHECK: %[[Y:.*]] = train.conv %[[XL]], %[[WL]] {channelsLast, {{.*}} -> tensor<8x14x14x64xf32>
// CHECK: %[[BR:.*]] = train.reshape %[[B]] {sizes = array<i64: 1, 64, 1, 1>}
// CHECK: %[[BL:.*]] = train.transpose %[[BR]] {permutation = array<i64: 0, 2, 3, 1>} {{.*}} -> tensor<1x1x1x64xf32>
// CHECK: %[[A:.*]] = train.add %[[Y]], %[[BL]] {{.*}} -> tensor<8x14x14x64xf32>
// CHECK: %[[P:.*]] = train.max_pool %[[A]] {channelsLast, {{.*}} -> tensor<8x7x7x64xf32>
// CHECK: %[[PF:.*]] = train.transpose %[[P]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK: train.reshape %[[PF]] {sizes = array<i64: 8, 3136>}
// CHECK: %[[D:.*]] = train.max_pool_gradient %[[A]], %[[P]] {channelsLast, {{.*}} -> tensor<8x14x14x64xf32>
// CHECK: %[[S:.*]] = train.sum %[[D]] {axes = array<i64: 0, 1, 2>} : (tensor<8x14x14x64xf32>) -> tensor<1x1x1x64xf32>
// CHECK: train.transpose %[[S]] {permutation = array<i64: 0, 3, 1, 2>} {{.*}} -> tensor<1x64x1x1xf32>
// CHECK: train.conv_input_gradient %[[D]], %[[WL]] {channelsLast,
// CHECK: %[[G:.*]] = train.conv_weight_gradient %[[D]], %[[XL]] {channelsLast, {{.*}} -> tensor<64x3x3x64xf32>
// CHECK: train.transpose %[[G]] {permutation = array<i64: 0, 3, 1, 2>} {{.*}} -> tensor<64x64x3x3xf32>
func.func @deep(%x: tensor<8x64x14x14xf32>, %w: tensor<64x64x3x3xf32>, %b: tensor<64xf32>)
    -> (tensor<8x3136xf32>, tensor<1x64x1x1xf32>, tensor<8x64x14x14xf32>, tensor<64x64x3x3xf32>) {
  %y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<8x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<8x64x14x14xf32>
  %c = train.reshape %b {sizes = array<i64: 64, 1, 1>} : (tensor<64xf32>) -> tensor<64x1x1xf32>
  %a = train.add %y, %c : (tensor<8x64x14x14xf32>, tensor<64x1x1xf32>) -> tensor<8x64x14x14xf32>
  %p = train.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<8x64x14x14xf32>) -> tensor<8x64x7x7xf32>
  %r = train.reshape %p {sizes = array<i64: 8, 3136>} : (tensor<8x64x7x7xf32>) -> tensor<8x3136xf32>
  %d = train.max_pool_gradient %a, %p {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<8x64x14x14xf32>, tensor<8x64x7x7xf32>) -> tensor<8x64x14x14xf32>
  %s = train.sum %d {axes = array<i64: 0, 2, 3>} : (tensor<8x64x14x14xf32>) -> tensor<1x64x1x1xf32>
  %dx = train.conv_input_gradient %d, %w {sizes = array<i64: 14, 14>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<8x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<8x64x14x14xf32>
  %dw = train.conv_weight_gradient %d, %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<8x64x14x14xf32>, tensor<8x64x14x14xf32>) -> tensor<64x64x3x3xf32>
  return %r, %s, %dx, %dw : tensor<8x3136xf32>, tensor<1x64x1x1xf32>, tensor<8x64x14x14xf32>, tensor<64x64x3x3xf32>
}

// Three channels of a large image are gathered faster as they are, and nothing is transposed.
// CHECK-LABEL: func.func @shallow
// CHECK-NEXT: train.conv {{.*}} -> tensor<1x64x555x555xf32>
// CHECK-NEXT: train.sub {{.*}} -> tensor<1x64x555x555xf32>
// LAST-LABEL: func.func @shallow
// LAST: train.conv {{.*}}channelsLast{{.*}} -> tensor<1x555x555x64xf32>
// LAST: train.sub {{.*}} -> tensor<1x555x555x64xf32>
func.func @shallow(%x: tensor<1x3x555x555xf32>, %w: tensor<64x3x3x3xf32>, %t: tensor<1x64x555x555xf32>) -> tensor<1x64x555x555xf32> {
  %y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x3x555x555xf32>, tensor<64x3x3x3xf32>) -> tensor<1x64x555x555xf32>
  %d = train.sub %y, %t : (tensor<1x64x555x555xf32>, tensor<1x64x555x555xf32>) -> tensor<1x64x555x555xf32>
  return %d : tensor<1x64x555x555xf32>
}

// Where no window slides there is nothing to gain, whatever is asked for.
// LAST-LABEL: func.func @elementwise
// LAST-NEXT: train.exp
// LAST-NEXT: return
func.func @elementwise(%x: tensor<8x64x14x14xf32>) -> tensor<8x64x14x14xf32> {
  %y = train.exp %x : (tensor<8x64x14x14xf32>) -> tensor<8x64x14x14xf32>
  return %y : tensor<8x64x14x14xf32>
}

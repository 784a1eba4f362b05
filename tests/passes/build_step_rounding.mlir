// Weights of 16 bits are rounded at random, behind the select of a skipped update and by a stream
// of their own; the 16-bit copies of half-grad are not.
// RUN: halfstep-opt %s --build-step="optimizer=sgd rounding=stochastic loss-scale=dynamic" | FileCheck %s
// RUN: halfstep-opt %s --build-step="optimizer=sgd" | FileCheck %s --check-prefix=NEAREST
// RUN: not halfstep-opt %s --build-step="optimizer=sgd rounding=up" 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK-DAG: table.tensor counter "seed" : tensor<i64>
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[SEED:[^ ]+]]: tensor<i64> {train.state = "seed"}
// CHECK: %[[W:.*]] = train.map
// CHECK: arith.select
// CHECK: (tensor<128xbf16>, {{.*}}) -> tensor<128xf32>
// CHECK: train.iota 0 in [128]
// CHECK: %[[BITS:.*]] = train.philox {{.*}}%[[SEED]] {stream = -2147483648 : i32}
// CHECK: train.stochastic_cast %[[W]], %[[BITS]] to bf16
// NEAREST-NOT: "seed"
// NEAREST-NOT: stochastic_cast
// NAME: --rounding must be nearest or stochastic, not 'up'
module {
  func.func @forward(%w: tensor<3xbf16> {train.parameter = "w", train.trainable})
      -> (tensor<3xbf16> {train.output = "y"}) {
    return %w : tensor<3xbf16>
  }
  func.func @micro(%w: tensor<3xbf16> {train.parameter = "w", train.trainable},
                   %seed: tensor<f32> {train.seed})
      -> (tensor<f32> {train.metric = "loss"}, tensor<3xbf16> {train.gradient = "w"}) {
    return %seed, %w : tensor<f32>, tensor<3xbf16>
  }
  func.func @evaluate(%l: tensor<f32> {train.input = "l"}) -> (tensor<f32> {train.metric = "loss"}) {
    return %l : tensor<f32>
  }
}

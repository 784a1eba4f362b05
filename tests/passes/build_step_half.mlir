// Half-grad with a dynamic scale: masters, 16-bit copies and 16-bit gradients in one layout; the
// update unscales in registers, skips by select, writes master and copy, and adapts the scale last;
// @init derives the copies.
// RUN: halfstep-opt %s --build-step="optimizer=sgd loss-scale=dynamic:growth_interval=5" | FileCheck %s
// RUN: halfstep-opt %s --build-step="optimizer=sgd loss-scale=128" | FileCheck %s --check-prefix=STATIC
// RUN: halfstep-opt %s --build-step="optimizer=sgd accumulate=2" | FileCheck %s --check-prefix=SUM
// RUN: halfstep-opt %s --build-step="optimizer=sgd accumulate=2 accumulate-type=half" | FileCheck %s --check-prefix=SUMHALF
// RUN: not halfstep-opt %s --build-step="optimizer=sgd loss-scale=dynamic:growth_factor=1" 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not halfstep-opt %s --build-step="optimizer=sgd loss-scale=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// CHECK-DAG: table.region "parameters" : tensor<128xf32>
// CHECK-DAG: table.region "copies" : tensor<128xf16>
// CHECK-DAG: table.region "gradients" : tensor<128xf16>
// CHECK-DAG: table.tensor copy "w" : tensor<3xf16> {region = "copies", regionOffset = 0 : i64}
// CHECK-DAG: table.tensor hyperparameter "scale" : tensor<f64> in loss_scale {initial = 6.553600e+04 : f64}
// CHECK-DAG: table.tensor hyperparameter "growth_interval" : tensor<f64> in at_least_one {initial = 5.000000e+00 : f64}
// CHECK-DAG: table.tensor counter "growth" : tensor<f64>
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[SCALE:[^:]+]]: tensor<f64> {train.state = "scale"}
// CHECK: %[[SEED:.*]] = train.cast %[[SCALE]] to f32
// CHECK-LABEL: func.func @update
// CHECK-SAME: tensor<128xf16> {train.region = "gradients"}
// CHECK-SAME: {train.updates_region = "parameters"}, tensor<128xf16> {train.updates_region = "copies"}
// CHECK-SAME: {train.updates = "scale"}, tensor<f64> {train.updates = "growth"}
// CHECK: train.cast %{{.*}} to f32 : (tensor<128xf16>) -> tensor<128xf32>
// CHECK: train.compare gt
// CHECK: train.map
// CHECK: arith.mulf
// CHECK: arith.select
// CHECK: train.yield %[[W:.*]], %[[W]] : f32, f32
// CHECK-LABEL: func.func @init
// CHECK-SAME: tensor<128xf32> {train.region = "parameters"}) -> (tensor<128xf16> {train.updates_region = "copies"})
// CHECK: train.cast %{{.*}} to f16

// STATIC-DAG: table.tensor hyperparameter "scale" : tensor<f64> in loss_scale {initial = 1.280000e+02 : f64}
// STATIC-NOT: "growth"
// SUM: table.region "gradients" : tensor<128xf32>
// SUMHALF: table.region "gradients" : tensor<128xf16>
// FACTOR: growth_factor must be above 1
// NEGATIVE: a loss scale must be from 2^-126 to 2^127 (got -1)
module {
  func.func @forward(%w: tensor<3xf16> {train.copy = "w", train.trainable})
      -> (tensor<3xf16> {train.output = "y"}) {
    return %w : tensor<3xf16>
  }
  func.func @micro(%w: tensor<3xf16> {train.copy = "w", train.trainable},
                   %seed: tensor<f32> {train.seed})
      -> (tensor<f32> {train.metric = "loss"}, tensor<3xf16> {train.gradient = "w"}) {
    return %seed, %w : tensor<f32>, tensor<3xf16>
  }
  func.func @evaluate(%w: tensor<3xf16> {train.copy = "w", train.trainable}) {
    return
  }
}

// The step of Adam with clipping: flat regions with aligned parameters, an update from gradients to
// parameters and slots, counters and records; the seed becomes a number.
// RUN: halfstep-opt %s --build-step="optimizer=adam:lr=0.5 clip-norm=2" --canonicalize | FileCheck %s
// RUN: halfstep-opt %s --build-step="optimizer=sgd accumulate=4" --canonicalize | FileCheck %s --check-prefix=ACC
// RUN: halfstep-opt %s --build-step="optimizer=sgd schedule=cosine:t_max=10,unit=epoch" | FileCheck %s --check-prefix=COS
// RUN: not halfstep-opt %s --build-step="optimizer=adagrad" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not halfstep-opt %s --build-step="optimizer=adam:betas=0.9" 2>&1 | FileCheck %s --check-prefix=BETAS
// RUN: not halfstep-opt %s --build-step="optimizer=sgd schedule=cosine" 2>&1 | FileCheck %s --check-prefix=TMAX

// CHECK-DAG: table.region "parameters" : tensor<128xf32>
// CHECK-DAG: table.tensor parameter "w" : tensor<3xf32> {region = "parameters", regionOffset = 0 : i64, trainable}
// CHECK-DAG: table.tensor parameter "b" : tensor<f32> {region = "parameters", regionOffset = 256 : i64, trainable}
// CHECK-DAG: table.tensor gradient "b" : tensor<f32> {region = "gradients", regionOffset = 256 : i64}
// CHECK-DAG: table.tensor optimizer "exp_avg/w" : tensor<3xf32> {region = "exp_avg", regionOffset = 0 : i64}
// CHECK-DAG: table.tensor hyperparameter "lr" : tensor<f64> in non_negative {initial = 5.000000e-01 : f64}
// CHECK-DAG: table.tensor record "grad_norm" : tensor<64xf64>
// CHECK-DAG: table.tensor parameter "frozen" : tensor<f32>{{$}}
// CHECK-DAG: table.tensor metric "mae" : tensor<f32>
// CHECK-LABEL: func.func @infer
// CHECK-LABEL: func.func @micro
// CHECK-SAME: tensor<f64> {train.updates = "running_loss"}
// CHECK-NOT: train.seed
// CHECK: arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-LABEL: func.func @update
// CHECK-SAME: {train.updates_region = "parameters"}, tensor<128xf32> {train.updates_region = "exp_avg"}, tensor<128xf32> {train.updates_region = "exp_avg_sq"}
// CHECK: train.sum
// CHECK: %[[NORM:.*]] = train.sqrt
// CHECK: train.minimum
// CHECK: train.map
// CHECK: math.sqrt

// ACC-LABEL: func.func @micro
// ACC-SAME: {train.gradient = "w"}
// ACC-SAME: -> (tensor<f64> {train.updates = "running_loss"}, tensor<3xf32> {train.gradient = "w"}
// ACC: arith.constant dense<2.500000e-01> : tensor<f32>
// ACC-LABEL: func.func @update
// ACC-SAME: tensor<128xf32> {train.updates_region = "gradients"}
// ACC-SAME: {train.updates = "running_loss"}

// COS-LABEL: func.func @update
// COS-SAME: {train.state = "epoch"}
// COS: train.cos

// NAME: error: --optimizer: unknown optimizer 'adagrad'
// BETAS: betas must be two numbers from 0 to below 1
// TMAX: error: --schedule:
// TMAX-SAME: t_max
module {
  func.func @forward(%x: tensor<3xf32> {train.input = "x"},
                     %w: tensor<3xf32> {train.parameter = "w", train.trainable},
                     %b: tensor<f32> {train.parameter = "b", train.trainable},
                     %f: tensor<f32> {train.parameter = "frozen"})
      -> (tensor<3xf32> {train.output = "y"}) {
    return %x : tensor<3xf32>
  }
  func.func @micro(%x: tensor<3xf32> {train.input = "x"},
                   %w: tensor<3xf32> {train.parameter = "w", train.trainable},
                   %b: tensor<f32> {train.parameter = "b", train.trainable},
                   %f: tensor<f32> {train.parameter = "frozen"}, %seed: tensor<f32> {train.seed})
      -> (tensor<f32> {train.metric = "loss"}, tensor<3xf32> {train.gradient = "w"},
          tensor<f32> {train.gradient = "b"}) {
    %d = train.mul %w, %seed : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    return %b, %d, %seed : tensor<f32>, tensor<3xf32>, tensor<f32>
  }
  func.func @evaluate(%x: tensor<3xf32> {train.input = "x"},
                      %b: tensor<f32> {train.parameter = "b", train.trainable})
      -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "mae"}) {
    return %b, %b : tensor<f32>, tensor<f32>
  }
}

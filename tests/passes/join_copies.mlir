// Copies of single elements to the state are one entry, where none depends on another.
// RUN: halfstep-opt %s -split-input-file --plan-memory --verify-phase=phase=memory | FileCheck %s

table.tensor counter "a" : tensor<f64>
table.tensor counter "b" : tensor<f64>
table.tensor counter "w" : tensor<64xf64>

kernel.group @next [1](%x: f64[1]) -> (f64[1]) {
  %y = arith.negf %x : f64
  kernel.yield %y : f64
}
kernel.group @next_of_many [64](%x: f64[1]) -> (f64[1]) {
  %y = arith.negf %x : f64
  kernel.yield %y : f64
}

// The old values are read behind the new ones' entries: all three are copied in the end.
// CHECK:       kernel.group @update_copies [1](%[[A:.*]]: f64[1], %[[B:.*]]: f64[1]) -> (f64[1], f64[1])
// CHECK-NEXT:    kernel.yield %[[A]], %[[B]]
// CHECK-LABEL: func.func @update
// CHECK:       table.launch @update_copies(%{{.*}}, %{{.*}}) {slices = [#table.slice<1, {{.*}}, 8>, #table.slice<1, {{.*}}, 8>, #table.slice<0, 0, 8>, #table.slice<0, 64, 8>]}
// CHECK-NEXT:  table.copy %{{.*}} #table.slice<0, 128, 512>]}
// CHECK-NEXT:  return
func.func @update(%a: tensor<f64> {train.state = "a"}, %b: tensor<f64> {train.state = "b"},
                  %w: tensor<64xf64> {train.state = "w"})
    -> (tensor<f64> {train.updates = "a"}, tensor<f64> {train.updates = "b"},
        tensor<64xf64> {train.updates = "w"}, tensor<f64> {train.metric = "x"},
        tensor<f64> {train.metric = "y"}, tensor<64xf64> {train.metric = "z"}) {
  %0 = table.launch @next(%a) : (tensor<f64>) -> tensor<f64> loc("update")
  %1 = table.launch @next(%b) : (tensor<f64>) -> tensor<f64> loc("update")
  %2 = table.launch @next_of_many(%w) : (tensor<64xf64>) -> tensor<64xf64> loc("update")
  %3 = table.launch @next(%a) : (tensor<f64>) -> tensor<f64> loc("update")
  %4 = table.launch @next(%b) : (tensor<f64>) -> tensor<f64> loc("update")
  %5 = table.launch @next_of_many(%w) : (tensor<64xf64>) -> tensor<64xf64> loc("update")
  return %0, %1, %2, %3, %4, %5 : tensor<f64>, tensor<f64>, tensor<64xf64>, tensor<f64>,
      tensor<f64>, tensor<64xf64>
} loc("update")

// -----

table.tensor counter "a" : tensor<f64>
table.tensor counter "b" : tensor<f64>

// An exchange has an order; what comes from different nodes stays apart.
// CHECK-LABEL: func.func @update
// CHECK-NEXT:  table.copy
// CHECK-NEXT:  table.copy
// CHECK-NEXT:  table.copy
// CHECK-NEXT:  return
func.func @update(%a: tensor<f64> {train.state = "a"}, %b: tensor<f64> {train.state = "b"})
    -> (tensor<f64> {train.updates = "a"}, tensor<f64> {train.updates = "b"}) {
  return %b, %a : tensor<f64>, tensor<f64>
}

// What is written part by part lies in one slice from its first part to its last reader; a range of
// a value is a slice within its slice.
// RUN: halfstep-opt %s --order-entries --plan-memory --verify-phase=phase=memory | FileCheck %s
// RUN: halfstep-opt %s --plan-memory=reuse=false --verify-phase=phase=memory | FileCheck %s --check-prefix=APART

kernel.group @first [4, 10](%x: f32[10, 1]) -> (f32[30, 1]) {
  kernel.yield %x : f32
}
kernel.group @second [4, 20](%x: f32[20, 1], %y: f32[30, 1] + 10) -> (f32[20, 1], %y) {
  %n = arith.negf %x : f32
  kernel.yield %n, %n : f32, f32
}
// The result in place of the first argument is planned, that of the second one was there before.
// CHECK: kernel.group @third [4, 20](%[[X:.*]]: f32[20, 1], %[[Y:.*]]: f32[30, 1] + 10) -> (%[[X]], %[[Y]])
// APART: kernel.group @third [4, 20](%{{.*}}: f32[20, 1], %[[Y:.*]]: f32[30, 1] + 10) -> (f32[20, 1], %[[Y]])
kernel.group @third [4, 20](%x: f32[20, 1], %y: f32[30, 1] + 10) -> (f32[20, 1], %y) {
  %n = math.absf %x : f32
  kernel.yield %n, %n : f32, f32
}
kernel.group @sum [120](%x: f32[1]) -> (f32[0]) {
  %s = kernel.reduce add %x over last : f32
  kernel.yield %s : f32
}

table.tensor input "x" : tensor<4x10xf32>
table.tensor input "z" : tensor<4x20xf32>
table.tensor output "a" : tensor<f32>
table.tensor output "b" : tensor<4x20xf32>

// CHECK-LABEL: func.func @infer
// APART-LABEL: func.func @infer
func.func @infer(%x: tensor<4x10xf32> {train.input = "x"}, %z: tensor<4x20xf32> {train.input = "z"})
    -> (tensor<f32> {train.output = "a"}, tensor<4x20xf32> {train.output = "b"}) {
  // CHECK: table.launch @first(%{{.*}}) {slices = [#table.slice<2, 0, 160>, [[W:#table.slice<1, 0, 480>]]]}
  // APART: table.launch @first(%{{.*}}) {slices = [#table.slice<2, 0, 160>, [[W:#table.slice<1, .*, 480>]]]}
  %0 = table.launch @first(%x) : (tensor<4x10xf32>) -> tensor<4x30xf32>
  // CHECK: table.launch @second(%{{.*}}) {slices = [#table.slice<3, 0, 320>, [[W]], [[P:#table.slice<1, 512, 320>]], [[W]]], updates
  // APART: table.launch @second(%{{.*}}) {slices = [#table.slice<3, 0, 320>, [[W]], [[P:#table.slice<1, .*, 320>]], [[W]]], updates
  %1:2 = table.launch @second(%z, %0) {updates = array<i64: -1, 1>}
      : (tensor<4x20xf32>, tensor<4x30xf32>) -> (tensor<4x20xf32>, tensor<4x30xf32>)
  // CHECK: table.launch @third(%{{.*}}) {slices = {{\[}}[[P]], [[W]], [[P]], [[W]]], updates
  // APART: table.launch @third(%{{.*}}) {slices = {{\[}}[[P]], [[W]], [[Q:#table.slice<1, .*, 320>]], [[W]]], updates
  %2:2 = table.launch @third(%1#0, %1#1) {updates = array<i64: -1, 1>}
      : (tensor<4x20xf32>, tensor<4x30xf32>) -> (tensor<4x20xf32>, tensor<4x30xf32>)
  // CHECK-DAG: table.launch @sum(%{{.*}}) {slices = {{\[}}[[W]],
  %3 = table.launch @sum(%2#1) : (tensor<4x30xf32>) -> tensor<f32>
  // The last two rows, behind 2 times 30 elements of 4 bytes.
  // CHECK-DAG: table.gemm {{.*}} {slices = [#table.slice<1, 240, 240>, #table.slice<1, 0, 240>,
  %rows = table.alias %2#1 {offset = 60 : i64} : (tensor<4x30xf32>) -> tensor<2x30xf32>
  %top = table.alias %2#1 : (tensor<4x30xf32>) -> tensor<2x30xf32>
  %4 = table.gemm %rows, %top {transA} : (tensor<2x30xf32>, tensor<2x30xf32>) -> tensor<30x30xf32>
  return %3, %2#0 : tensor<f32>, tensor<4x20xf32>
}

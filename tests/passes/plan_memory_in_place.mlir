// A kernel's result takes over the memory of an operand that dies there, where the kernel allows it.
// RUN: halfstep-opt %s --plan-memory --verify-phase=phase=memory | FileCheck %s

// A kernel whose launches do not share alike becomes several: @relu works in place in its second
// launch only, @add in another operand each time.
// CHECK: kernel.group @relu [64](%{{.*}}: f32[1]) -> (f32[1])
// CHECK: kernel.group @relu_0 [64](%[[X:.*]]: f32[1]) -> (%[[X]])
kernel.group @relu [64](%x: f32[1]) -> (f32[1]) {
  %zero = arith.constant 0.0 : f32
  %y = arith.maximumf %x, %zero : f32
  kernel.yield %y : f32
}
// CHECK: kernel.group @add [64](%[[X:.*]]: f32[1], %[[Y:.*]]: f32[1]) -> (%[[Y]])
// CHECK: kernel.group @add_1 [64](%{{.*}}: f32[1], %{{.*}}: f32[1]) -> (f32[1])
// CHECK: kernel.group @add_2 [64](%[[X:.*]]: f32[1], %[[Y:.*]]: f32[1]) -> (%[[X]])
kernel.group @add [64](%x: f32[1], %y: f32[1]) -> (f32[1]) {
  %z = arith.addf %x, %y : f32
  kernel.yield %z : f32
}
// Two results in place of two operands.
// CHECK: kernel.group @swap [64](%[[X:.*]]: f32[1], %[[Y:.*]]: f32[1]) -> (%[[X]], %[[Y]])
kernel.group @swap [64](%x: f32[1], %y: f32[1]) -> (f32[1], f32[1]) {
  kernel.yield %y, %x : f32, f32
}
// One of the two results: the other keeps a buffer of its own, whose number changes.
// CHECK: kernel.group @both [64](%[[X:.*]]: f32[1]) -> (%[[X]], f32[1])
kernel.group @both [64](%x: f32[1]) -> (f32[1], f32[1]) {
  %y = arith.negf %x : f32
  kernel.yield %x, %y : f32, f32
}
// As many bytes of another type.
// CHECK: kernel.group @retype [64](%{{.*}}: bf16[1]) -> (f16[1])
kernel.group @retype [64](%x: bf16[1]) -> (f16[1]) {
  kernel.yield %x : f32
}
kernel.group @narrow [64](%x: f32[1]) -> (bf16[1]) {
  kernel.yield %x : f32
}
// Read along other strides than it is written.
// CHECK: kernel.group @transpose [8, 8](%{{.*}}: f32[1, 8]) -> (f32[8, 1])
kernel.group @transpose [8, 8](%x: f32[1, 8]) -> (f32[8, 1]) {
  kernel.yield %x : f32
}
// Read one element further on than it is written.
// CHECK: kernel.group @shift [63](%{{.*}}: f32[1] + 1) -> (f32[1])
kernel.group @shift [63](%x: f32[1] + 1) -> (f32[1]) {
  kernel.yield %x : f32
}
// One value a row, which the whole row reads before it is stored.
// CHECK: kernel.group @rows [8, 8](%{{.*}}: f32[8, 1], %[[N:.*]]: f32[1, 0]) -> (%[[N]])
kernel.group @rows [8, 8](%x: f32[8, 1], %n: f32[1, 0]) -> (f32[1, 0]) {
  %y = arith.mulf %x, %n : f32
  %s = kernel.reduce add %y over last : f32
  kernel.yield %s : f32
}
// Not where other rows read it too, and not where it is read in another row.
// CHECK: kernel.group @all_rows [8, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 0]) -> (f32[1, 0])
kernel.group @all_rows [8, 8](%x: f32[8, 1], %n: f32[0, 0]) -> (f32[1, 0]) {
  %y = arith.mulf %x, %n : f32
  %s = kernel.reduce add %y over last : f32
  kernel.yield %s : f32
}
// CHECK: kernel.group @columns [8, 8](%{{.*}}: f32[8, 1], %{{.*}}: f32[0, 1]) -> (f32[1, 0])
kernel.group @columns [8, 8](%x: f32[8, 1], %n: f32[0, 1]) -> (f32[1, 0]) {
  %y = arith.mulf %x, %n : f32
  %s = kernel.reduce add %y over last : f32
  kernel.yield %s : f32
}
kernel.contract @square [1, 8, 8, 8] f32 (a[0, 8, 1], b[0, 8, 1]) -> c[0, 8, 1]

table.tensor input "x" : tensor<64xf32>
table.tensor output "a" : tensor<64xf32>
table.tensor output "b" : tensor<64xf32>
table.tensor output "c" : tensor<64xf16>

// CHECK-LABEL: func.func @infer
func.func @infer(%x: tensor<64xf32> {train.input = "x"})
    -> (tensor<64xf32> {train.output = "a"}, tensor<64xf32> {train.output = "b"},
        tensor<64xf16> {train.output = "c"}) {
  // An input is never overwritten.
  // CHECK: table.launch @relu(%{{.*}}) {slices = [#table.slice<2, 0, 256>, [[A:#table.slice<1, .*, 256>]]]}
  %0 = table.launch @relu(%x) : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: table.launch @relu_0(%{{.*}}) {slices = {{\[}}[[A]], [[A]]]}
  %1 = table.launch @relu(%0) : (tensor<64xf32>) -> tensor<64xf32>
  // An operand that lives on: the other one.
  // CHECK: table.launch @add(%{{.*}}) {slices = {{\[}}#table.slice<2, 0, 256>, [[A]], [[A]]]}
  %2 = table.launch @add(%x, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // Passed twice: neither.
  // CHECK: table.launch @add_1(%{{.*}}) {slices = {{\[}}[[A]], [[A]], [[B:#table.slice<1, .*, 256>]]]}
  %3 = table.launch @add(%2, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: table.launch @both(%{{.*}}) {slices = {{\[}}[[B]], [[B]], [[C:#table.slice<1, .*, 256>]]]}
  %4:2 = table.launch @both(%3) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  // CHECK: table.launch @swap(%{{.*}}) {slices = {{\[}}[[B]], [[C]], [[B]], [[C]]]}
  %5:2 = table.launch @swap(%4#0, %4#1) : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  // CHECK: table.launch @add_2(%{{.*}}) {slices = {{\[}}[[B]], [[C]], [[B]]]}
  %6 = table.launch @add(%5#0, %5#1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // A view is the value that it views.
  %7 = table.alias %6 : (tensor<64xf32>) -> tensor<8x8xf32>
  // CHECK: table.launch @transpose(%{{.*}}) {slices = {{\[}}[[B]], [[D:#table.slice<1, .*, 256>]]]}
  %8 = table.launch @transpose(%7) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: table.launch @square(%{{.*}}) {slices = {{\[}}[[D]], [[D]], [[E:#table.slice<1, .*, 256>]]]}
  %9 = table.launch @square(%8, %8) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // What is returned dies at no entry.
  // CHECK: table.launch @relu(%{{.*}}) {slices = {{\[}}[[E]], [[F:#table.slice<1, .*, 256>]]]}
  %10 = table.alias %9 : (tensor<8x8xf32>) -> tensor<64xf32>
  %11 = table.launch @relu(%10) : (tensor<64xf32>) -> tensor<64xf32>
  %12 = table.launch @narrow(%x) : (tensor<64xf32>) -> tensor<64xbf16>
  %13 = table.launch @retype(%12) : (tensor<64xbf16>) -> tensor<64xf16>
  %14 = table.launch @relu(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %15 = table.launch @shift(%14) : (tensor<64xf32>) -> tensor<64xf32>
  %16 = table.alias %x : (tensor<64xf32>) -> tensor<8x8xf32>
  %17 = table.alias %x : (tensor<64xf32>) -> tensor<8xf32>
  %18 = table.launch @all_rows(%16, %17) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %19 = table.launch @rows(%16, %18) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %20 = table.launch @all_rows(%16, %19) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %21 = table.launch @columns(%16, %20) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %10, %11, %13 : tensor<64xf32>, tensor<64xf32>, tensor<64xf16>
}

// New values of state are computed where the old ones are, or copied there in the end.
// RUN: halfstep-opt %s -split-input-file --plan-memory --verify-phase=phase=memory | FileCheck %s
// RUN: halfstep-opt %s -split-input-file --plan-memory=reuse=false --verify-phase=phase=memory \
// RUN:   | FileCheck %s --check-prefix=APART

table.tensor parameter "w" : tensor<64xf32> {trainable}
table.tensor gradient "w" : tensor<64xf32>
table.tensor optimizer "momentum/w" : tensor<64xf32>
table.tensor counter "a" : tensor<64xf32>
table.tensor counter "b" : tensor<64xf32>

kernel.group @negate [64](%x: f32[1]) -> (f32[1]) {
  %y = arith.negf %x : f32
  kernel.yield %y : f32
}
// CHECK: kernel.group @sgd [64](%[[M:.*]]: f32[1], %{{.*}}: f32[1]) -> (%[[M]])
// APART: kernel.group @sgd [64](%{{.*}}: f32[1], %{{.*}}: f32[1]) -> (f32[1])
kernel.group @sgd [64](%m: f32[1], %dw: f32[1]) -> (f32[1]) {
  %y = arith.addf %m, %dw : f32
  kernel.yield %y : f32
}

// A gradient is computed in its place although it is read again; nothing is copied.
// CHECK-LABEL: func.func @gradient
// CHECK-NOT: table.copy
// CHECK: table.launch @negate{{.*}}(%{{.*}}) {slices = [#table.slice<0, 0, 256>, #table.slice<0, 256, 256>]}
// CHECK-NEXT: table.launch @sgd(%{{.*}}) {slices = [#table.slice<0, 512, 256>, #table.slice<0, 256, 256>, #table.slice<0, 512, 256>]}
// CHECK-NEXT: return
// APART-LABEL: func.func @gradient
// APART: table.copy {{.*}}, #table.slice<0, 256, 256>]}
// APART-NEXT: table.copy {{.*}}, #table.slice<0, 512, 256>]}
func.func @gradient(%w: tensor<64xf32> {train.parameter = "w"},
                    %m: tensor<64xf32> {train.state = "momentum/w"})
    -> (tensor<64xf32> {train.gradient = "w"}, tensor<64xf32> {train.updates = "momentum/w"}) {
  %dw = table.launch @negate(%w) : (tensor<64xf32>) -> tensor<64xf32>
  %next = table.launch @sgd(%m, %dw) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %dw, %next : tensor<64xf32>, tensor<64xf32>
}

// The old value is read behind the new one's entry: computed in the arena, copied in the end.
// CHECK-LABEL: func.func @read_later
// CHECK: table.launch @negate{{.*}} {slices = [#table.slice<0, 768, 256>, [[NEW:#table.slice<1, .*, 256>]]]}
// CHECK: table.launch @negate{{.*}} {slices = [#table.slice<0, 768, 256>, #table.slice<1, {{.*}}, 256>]}
// CHECK: table.copy %{{.*}} {slices = {{\[}}[[NEW]], #table.slice<0, 768, 256>]}
func.func @read_later(%a: tensor<64xf32> {train.state = "a"})
    -> (tensor<64xf32> {train.updates = "a"}, tensor<64xf32> {train.metric = "sum"}) {
  %next = table.launch @negate(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %loss = table.launch @negate(%a) : (tensor<64xf32>) -> tensor<64xf32>
  return %next, %loss : tensor<64xf32>, tensor<64xf32>
}

// An exchange: %b is put aside before it is overwritten. What stays as it is costs nothing.
// CHECK-LABEL: func.func @exchange
// CHECK-NEXT: table.copy %arg1 {slices = [#table.slice<0, 1024, 256>, [[ASIDE:#table.slice<1, 0, 256>]]]}
// CHECK-NEXT: table.copy %arg0 {slices = [#table.slice<0, 768, 256>, #table.slice<0, 1024, 256>]}
// CHECK-NEXT: table.copy %{{.*}} {slices = {{\[}}[[ASIDE]], #table.slice<0, 768, 256>]}
// CHECK-NEXT: return
func.func @exchange(%a: tensor<64xf32> {train.state = "a"}, %b: tensor<64xf32> {train.state = "b"},
                    %m: tensor<64xf32> {train.state = "momentum/w"})
    -> (tensor<64xf32> {train.updates = "a"}, tensor<64xf32> {train.updates = "b"},
        tensor<64xf32> {train.updates = "momentum/w"}) {
  return %b, %a, %m : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Returned twice: a value can be in one place only.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: table.launch @negate{{.*}} {slices = [#table.slice<0, 0, 256>, #table.slice<0, 768, 256>]}
// CHECK-NEXT: table.copy %{{.*}} {slices = [#table.slice<0, 768, 256>, #table.slice<0, 1024, 256>]}
// CHECK-NEXT: return
func.func @twice(%w: tensor<64xf32> {train.parameter = "w"})
    -> (tensor<64xf32> {train.updates = "a"}, tensor<64xf32> {train.updates = "b"}) {
  %0 = table.launch @negate(%w) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %0 : tensor<64xf32>, tensor<64xf32>
}

// A kernel that reads in another order than it writes cannot work in place.
kernel.group @transpose [8, 8](%x: f32[1, 8]) -> (f32[8, 1]) {
  kernel.yield %x : f32
}
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: table.launch @transpose{{.*}} {slices = [#table.slice<0, 768, 256>, [[NEW:#table.slice<1, .*, 256>]]]}
// CHECK-NEXT: table.copy %{{.*}} {slices = {{\[}}[[NEW]], #table.slice<0, 768, 256>]}
func.func @transposed(%a: tensor<64xf32> {train.state = "a"})
    -> (tensor<64xf32> {train.updates = "a"}) {
  %0 = table.launch @transpose(%a) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Nor can one that reads a part of what it replaces.
kernel.group @negate [64](%x: f32[1]) -> (f32[1]) {
  %y = arith.negf %x : f32
  kernel.yield %y : f32
}
table.region "slots" : tensor<128xf32>
table.tensor optimizer "slot/w" : tensor<64xf32> {region = "slots", regionOffset = 256}
// CHECK-LABEL: func.func @part
// CHECK-NEXT: table.launch @negate{{.*}} {slices = [#table.slice<0, 256, 256>, [[NEW:#table.slice<1, .*, 512>]]]}
// CHECK-NEXT: table.copy %{{.*}} {slices = {{\[}}[[NEW]], #table.slice<0, 0, 512>]}
func.func @part(%w: tensor<64xf32> {train.state = "slot/w"})
    -> (tensor<128xf32> {train.updates_region = "slots"}) {
  %0 = table.launch @negate(%w) : (tensor<64xf32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}

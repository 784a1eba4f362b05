// An input that all programs only read in one 16-bit type arrives in it; one that somebody reads in
// f32 does not.
// RUN: halfstep-opt %s --assign-input-types --canonicalize | FileCheck %s --check-prefix=READERS
// RUN: halfstep-opt %s --assign-input-types=narrow=false --canonicalize | FileCheck %s --check-prefix=FILE
// What is chosen holds, whoever reads it: exact casts fold, others stay.
// RUN: halfstep-opt %s --assign-input-types="types=x=bf16,y=fp16,label=fp16" --canonicalize | FileCheck %s --check-prefix=CHOSEN
// RUN: halfstep-opt %s --assign-input-types=types=x=fp32 --canonicalize | FileCheck %s --check-prefix=WIDE

// READERS-LABEL: func.func @micro(
// READERS-SAME: %[[X:.*]]: tensor<4xf16> {train.input = "x"}, %{{.*}}: tensor<4xf32> {train.input = "y"}, %{{.*}}: tensor<4xf32> {train.label}, %{{.*}}: tensor<4xi64> {train.input = "ids"}
// READERS-NOT: train.cast
// READERS: train.neg %[[X]]

// FILE-LABEL: func.func @micro(
// FILE-SAME: %[[X:.*]]: tensor<4xf32> {train.input = "x"}
// FILE: train.cast %[[X]] to f16

// The cast to the former type comes first.
// CHOSEN-LABEL: func.func @micro(
// CHOSEN-SAME: %[[X:.*]]: tensor<4xbf16> {train.input = "x"}, %[[Y:.*]]: tensor<4xf16> {train.input = "y"}, %[[L:.*]]: tensor<4xf16> {train.label}
// CHOSEN-DAG: %[[LF:.*]] = train.cast %[[L]] to f32
// CHOSEN-DAG: %[[YF:.*]] = train.cast %[[Y]] to f32
// CHOSEN-DAG: %[[XF:.*]] = train.cast %[[X]] to f32
// CHOSEN-DAG: %[[XH:.*]] = train.cast %[[XF]] to f16
// CHOSEN: train.neg %[[XH]]
// CHOSEN: train.mul %[[YF]], %[[LF]]
// CHOSEN: train.abs %[[Y]] : (tensor<4xf16>)

// WIDE-LABEL: func.func @micro(
// WIDE-SAME: %[[X:.*]]: tensor<4xf32> {train.input = "x"}
// WIDE: train.cast %[[X]] to f16
func.func @micro(%x: tensor<4xf32> {train.input = "x"}, %y: tensor<4xf32> {train.input = "y"},
                 %t: tensor<4xf32> {train.label}, %ids: tensor<4xi64> {train.input = "ids"})
    -> (tensor<4xf16>, tensor<4xf32>, tensor<4xf16>) {
  %xh = train.cast %x to f16 : (tensor<4xf32>) -> tensor<4xf16>
  %a = train.neg %xh : (tensor<4xf16>) -> tensor<4xf16>
  %b = train.mul %y, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %yh = train.cast %y to f16 : (tensor<4xf32>) -> tensor<4xf16>
  %c = train.abs %yh : (tensor<4xf16>) -> tensor<4xf16>
  return %a, %b, %c : tensor<4xf16>, tensor<4xf32>, tensor<4xf16>
}

// Types are those of all programs.
// READERS-LABEL: func.func @evaluate(
// READERS-SAME: %{{.*}}: tensor<4xf16> {train.input = "x"}, %{{.*}}: tensor<4xf32> {train.input = "y"}
// CHOSEN-LABEL: func.func @evaluate(
// CHOSEN-SAME: %{{.*}}: tensor<4xbf16> {train.input = "x"}, %{{.*}}: tensor<4xf16> {train.input = "y"}
func.func @evaluate(%x: tensor<4xf32> {train.input = "x"}, %y: tensor<4xf32> {train.input = "y"})
    -> tensor<4xf16> {
  %yh = train.cast %y to f16 : (tensor<4xf32>) -> tensor<4xf16>
  return %yh : tensor<4xf16>
}

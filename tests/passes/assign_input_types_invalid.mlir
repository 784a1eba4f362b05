// A type is for an input or label that holds floats, and is given once.
// RUN: not halfstep-opt %s --assign-input-types=types=labels=fp16 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not halfstep-opt %s --assign-input-types=types=ids=fp16 2>&1 | FileCheck %s --check-prefix=IDS
// RUN: not halfstep-opt %s --assign-input-types=types=x=f16 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not halfstep-opt %s --assign-input-types=types=x=fp16,x=bf16 2>&1 | FileCheck %s --check-prefix=TWICE

// NAME: error: --input-type: no input of the model is called 'labels'; did you mean label?
// IDS: error: --input-type: ids holds 'i64', which is no float type
// TYPE: error: --input-type: 'x=f16' is not NAME=fp32, NAME=fp16 or NAME=bf16
// TWICE: error: --input-type: x is given twice
func.func @micro(%x: tensor<4xf32> {train.input = "x"}, %ids: tensor<4xi64> {train.input = "ids"},
                 %t: tensor<4xf32> {train.label}) {
  return
}

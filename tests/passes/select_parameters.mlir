// Freeze beats train; what is no float is never trained.
// RUN: halfstep-opt %s --select-parameters="train=weight,scale freeze=fc2,scale" | FileCheck %s

// CHECK: func.func @forward
// CHECK-SAME: "fc1.weight", train.trainable}
// CHECK-SAME: {train.parameter = "fc2.weight"}
// CHECK-SAME: {train.parameter = "scale"}
// CHECK-SAME: {train.parameter = "mask"}
func.func @forward(%a: tensor<2xf32> {train.parameter = "fc1.weight", train.trainable},
                   %b: tensor<2xf32> {train.parameter = "fc2.weight", train.trainable},
                   %c: tensor<2xf32> {train.parameter = "scale", train.trainable},
                   %d: tensor<2xi1> {train.parameter = "mask"}) {
  return
}

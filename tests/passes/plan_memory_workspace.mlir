// A workspace lives while its product does, and begins where cuBLASLt takes it.
// RUN: halfstep-opt %s --plan-memory --verify-phase=phase=memory | FileCheck %s

module {
  table.tensor input "a" : tensor<4x4xf32>
  table.tensor output "y" : tensor<4x4xf32>
  func.func @infer(%a: tensor<4x4xf32> {train.input = "a"})
      -> (tensor<4x4xf32> {train.output = "y"}) {
    // CHECK: table.gemm {{.*}}, #table.slice<1, 0, 64>, #table.slice<1, 256, 64>]}
    %c, %one = table.gemm %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<64xi8>)
    // CHECK: table.gemm {{.*}}, #table.slice<1, 64, 64>, #table.slice<1, 256, 64>]}
    %y, %two = table.gemm %c, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<64xi8>)
    return %y : tensor<4x4xf32>
  }
}

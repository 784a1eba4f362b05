// On a device, a product of few deep sums has a workspace for the sums of its parts; many sums, or
// short ones, fill a device as they are. A CPU's library has scratch memory instead.
// RUN: halfstep-opt %s --form-kernels=target=sm_80 | FileCheck %s
// RUN: halfstep-opt %s --form-kernels | FileCheck %s --check-prefix=CPU

// Four parts of 256 terms, 64 * 64 sums each.
// CHECK-LABEL: func.func @deep
// CHECK: %{{.*}}, %{{.*}} = table.gemm {{.*}} -> (tensor<64x64xf16>, tensor<65536xi8>)
// CPU-LABEL: func.func @deep
// CPU: table.gemm {{.*}} -> tensor<64x64xf16>
func.func @deep(%a: tensor<64x1151xf16>, %b: tensor<1151x64xf16>) -> tensor<64x64xf16> {
  %y = train.matmul %a, %b : (tensor<64x1151xf16>, tensor<1151x64xf16>) -> tensor<64x64xf16>
  return %y : tensor<64x64xf16>
}

// As many parts as 32 MiB hold.
// CHECK-LABEL: func.func @bounded
// CHECK: table.gemm {{.*}} -> (tensor<1024x1024xf16>, tensor<33554432xi8>)
func.func @bounded(%a: tensor<1024x8192xf16>, %b: tensor<8192x1024xf16>) -> tensor<1024x1024xf16> {
  %y = train.matmul %a, %b
      : (tensor<1024x8192xf16>, tensor<8192x1024xf16>) -> tensor<1024x1024xf16>
  return %y : tensor<1024x1024xf16>
}

// CHECK-LABEL: func.func @short
// CHECK: table.gemm {{.*}} -> tensor<64x64xf16>
func.func @short(%a: tensor<64x511xf16>, %b: tensor<511x64xf16>) -> tensor<64x64xf16> {
  %y = train.matmul %a, %b : (tensor<64x511xf16>, tensor<511x64xf16>) -> tensor<64x64xf16>
  return %y : tensor<64x64xf16>
}

// CHECK-LABEL: func.func @many
// CHECK: table.gemm {{.*}} -> tensor<2048x1025xf16>
func.func @many(%a: tensor<2048x1024xf16>, %b: tensor<1024x1025xf16>) -> tensor<2048x1025xf16> {
  %y = train.matmul %a, %b
      : (tensor<2048x1024xf16>, tensor<1024x1025xf16>) -> tensor<2048x1025xf16>
  return %y : tensor<2048x1025xf16>
}

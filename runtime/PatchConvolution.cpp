//===- PatchConvolution.cpp - What convolutions by products with patches share ----------------===//

#include "runtime/PatchConvolution.h"

#include "runtime/Window.h"

namespace halfstep::runtime {

PatchConvolution::PatchConvolution(const hs_conv &conv, const WorkerMemory &scratch, OneDnn *oneDnn)
    : conv(conv), scratch(scratch), oneDnn(oneDnn), points(volumeOf(conv.window.kernel)),
      inputs(volumeOf(conv.window.input)), outputs(volumeOf(conv.window.output)),
      storageType(conv.a_type), operandType(conv.a_type),
      sumType(conv.a_type == HS_F64 ? HS_F64 : HS_F32) {}

void PatchConvolution::decideByTypes() {
  bool isOperand = storageType == operandType, isSum = storageType == sumType;
  isPatchless = readsEachOnce(conv) && (isKind(HS_CONV_INPUT_GRADIENT) ? isSum : isOperand);
  isOutputInPlace = isKind(HS_CONV_FORWARD) ? isSum : isOperand;
}

hs_gemm PatchConvolution::asGemm(const Product &product) const {
  auto [transposeA, transposeB, m, n, k, lda, ldb, ldc] = product;
  hs_gemm gemm{};
  gemm.a_type = gemm.b_type = operandType;
  gemm.c_type = sumType;
  gemm.transpose_a = transposeA, gemm.transpose_b = transposeB;
  gemm.batch = 1;
  gemm.m = m, gemm.n = n, gemm.k = k;
  // A batch of one matrix, but oneDNN asks for a stride that is not 0.
  gemm.a_stride = m * k, gemm.b_stride = k * n, gemm.c_stride = m * n;
  gemm.lda = lda, gemm.ldb = ldb, gemm.ldc = ldc;
  return gemm;
}

PatchConvolution::Slices PatchConvolution::slicesOf(void *const *buffers) const {
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return {buffers[0], buffers[1], buffers[2]};
  case HS_CONV_INPUT_GRADIENT:
    return {buffers[2], buffers[1], buffers[0]};
  default:
    return {buffers[1], buffers[2], buffers[0]};
  }
}

} // namespace halfstep::runtime

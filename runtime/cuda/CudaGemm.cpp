//===- CudaGemm.cpp - A matrix product by cuBLASLt --------------------------------------------===//

#include "runtime/cuda/CudaGemm.h"

#include "runtime/Error.h"

namespace halfstep::runtime::cuda {

Blas::Blas(const DeviceContext &context) : context(context) {
  if (!library().cublasLtCreate)
    throw Error("CUDA", "the step multiplies matrices by cuBLASLt, which is not found")
        .help("install it (libcublasLt.so.12 or newer), or add its folder to LD_LIBRARY_PATH");
  check(library().cublasLtCreate(&blas), "cublasLtCreate");
}

Blas::~Blas() {
  if (blas)
    library().cublasLtDestroy(blas);
}

void Blas::check(BlasStatus status, const char *call) {
  if (status != blasSuccess)
    throw Error("cuBLASLt", std::string(call) + " failed with status " + std::to_string(status));
}

static int dataType(uint32_t type) {
  switch (type) {
  case HS_F64:
    return dataF64;
  case HS_F16:
    return dataF16;
  case HS_BF16:
    return dataBF16;
  default:
    return dataF32;
  }
}

MatrixLayout CudaGemm::layout(uint32_t type, int64_t rows, int64_t columns, int64_t leading,
                              int64_t stride) const {
  const CublasLt &library = blas.library();
  MatrixLayout layout;
  Blas::check(library.cublasLtMatrixLayoutCreate(&layout, dataType(type), uint64_t(rows),
                                                 uint64_t(columns), leading),
              "cublasLtMatrixLayoutCreate");
  int32_t count = int32_t(gemm.batch);
  Blas::check(
      library.cublasLtMatrixLayoutSetAttribute(layout, layoutBatchCount, &count, sizeof count),
      "cublasLtMatrixLayoutSetAttribute");
  Blas::check(
      library.cublasLtMatrixLayoutSetAttribute(layout, layoutBatchStride, &stride, sizeof stride),
      "cublasLtMatrixLayoutSetAttribute");
  return layout;
}

/// What the address of a slice is a multiple of, as far as the library asks.
static uint32_t alignmentOf(const hs_slice &slice) {
  constexpr uint64_t ofBuffers = 256;
  uint64_t offset = slice.offset | ofBuffers;
  return uint32_t(offset & -offset);
}

CudaGemm::CudaGemm(const Blas &blas, const hs_entry &entry)
    : blas(blas), gemm(*static_cast<const hs_gemm *>(entry.detail)), result(gemm.has_bias ? 3 : 2),
      workspaceBytes(result + 1 < entry.slice_count ? entry.slices[result + 1].bytes : 0) {
  const CublasLt &library = blas.library();
  bool isDouble = gemm.c_type == HS_F64;
  Blas::check(library.cublasLtMatmulDescCreate(&description, isDouble ? computeF64 : computeF32,
                                               isDouble ? dataF64 : dataF32),
              "cublasLtMatmulDescCreate");
  auto set = [&](int attribute, auto value) {
    Blas::check(
        library.cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
  };
  set(matmulTransposeA, int32_t(gemm.transpose_b ? operationTranspose : operationNone));
  set(matmulTransposeB, int32_t(gemm.transpose_a ? operationTranspose : operationNone));
  if (gemm.has_bias) {
    set(matmulEpilogue, uint32_t(epilogueBias));
    set(matmulBiasType, int32_t(dataType(gemm.c_type)));
  }
  // Rows of the transposed matrices lie together: as many as a row of the stored one is long.
  a = gemm.transpose_b ? layout(gemm.b_type, gemm.k, gemm.n, gemm.ldb, gemm.b_stride)
                       : layout(gemm.b_type, gemm.n, gemm.k, gemm.ldb, gemm.b_stride);
  b = gemm.transpose_a ? layout(gemm.a_type, gemm.m, gemm.k, gemm.lda, gemm.a_stride)
                       : layout(gemm.a_type, gemm.k, gemm.m, gemm.lda, gemm.a_stride);
  c = layout(gemm.c_type, gemm.n, gemm.m, gemm.ldc, gemm.c_stride);

  MatmulPreference preference;
  Blas::check(library.cublasLtMatmulPreferenceCreate(&preference),
              "cublasLtMatmulPreferenceCreate");
  uint32_t reductions = reductionNone | reductionComputeType;
  auto prefer = [&](int attribute, auto value) {
    Blas::check(
        library.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(preferenceMaxWorkspaceBytes, workspaceBytes);
  prefer(preferenceReductionScheme, reductions);
  int attribute = preferenceMinAlignmentA;
  for (uint32_t slice : {1u, 0u, result, result})
    prefer(attribute++, alignmentOf(entry.slices[slice]));
  MatmulHeuristic heuristic{};
  int found = 0;
  BlasStatus status = library.cublasLtMatmulAlgoGetHeuristic(blas.handle(), description, a, b, c, c,
                                                             preference, 1, &heuristic, &found);
  library.cublasLtMatmulPreferenceDestroy(preference);
  if (status != blasSuccess || !found || heuristic.state != blasSuccess)
    throw Error("cuBLASLt", "it has no algorithm for a product of " + std::to_string(gemm.m) + "x" +
                                std::to_string(gemm.k) + " by " + std::to_string(gemm.k) + "x" +
                                std::to_string(gemm.n));
  algorithm = heuristic.algorithm;
}

CudaGemm::~CudaGemm() {
  const CublasLt &library = blas.library();
  for (MatrixLayout layout : {a, b, c})
    if (layout)
      library.cublasLtMatrixLayoutDestroy(layout);
  if (description)
    library.cublasLtMatmulDescDestroy(description);
}

void CudaGemm::run(const Address *buffers, Stream stream) const {
  const CublasLt &library = blas.library();
  auto pointer = [](Address address) { return reinterpret_cast<void *>(address); };
  if (gemm.has_bias)
    Blas::check(library.cublasLtMatmulDescSetAttribute(description, matmulBiasPointer, &buffers[2],
                                                       sizeof buffers[2]),
                "cublasLtMatmulDescSetAttribute");
  float one = 1, zero = 0;
  double oneDouble = 1, zeroDouble = 0;
  bool isDouble = gemm.c_type == HS_F64;
  const void *alpha = isDouble ? static_cast<const void *>(&oneDouble) : &one;
  const void *beta = isDouble ? static_cast<const void *>(&zeroDouble) : &zero;
  Blas::check(library.cublasLtMatmul(
                  blas.handle(), description, alpha, pointer(buffers[1]), a, pointer(buffers[0]), b,
                  beta, pointer(buffers[result]), c, pointer(buffers[result]), c, &algorithm,
                  workspaceBytes ? pointer(buffers[result + 1]) : nullptr, workspaceBytes, stream),
              "cublasLtMatmul");
}

} // namespace halfstep::runtime::cuda

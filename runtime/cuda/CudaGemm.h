//===- CudaGemm.h - A matrix product by cuBLASLt ------------------------------------*- C++ -*-===//
//
// Row-major matrices are the transposed ones in cuBLASLt's column-major eyes: c = op(a) op(b) is
// computed as the transposed c = transposed op(b) times transposed op(a), with a and b swapped and
// no data moved. A row's bias is then one along the rows of its result, which an epilogue adds.
//
// Which of the library's kernels runs is decided when the product is made: one that gets by with
// the workspace of the plan, and reduces in the compute type if at all.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CUDA_CUDAGEMM_H
#define HALFSTEP_RUNTIME_CUDA_CUDAGEMM_H

#include "runtime/cuda/Context.h"
#include "runtime/step_abi.h"

namespace halfstep::runtime::cuda {

/// cuBLASLt's handle; made for the first product.
class Blas {
public:
  /// Throws where the library was not found.
  explicit Blas(const DeviceContext &context);
  Blas(const Blas &) = delete;
  Blas &operator=(const Blas &) = delete;
  ~Blas();

  const CublasLt &library() const { return context.blas(); }
  BlasHandle handle() const { return blas; }
  /// Throws unless a call succeeded.
  static void check(BlasStatus status, const char *call);

private:
  const DeviceContext &context;
  BlasHandle blas = nullptr;
};

class CudaGemm {
public:
  /// The product of an entry, whose buffers begin at multiples of 256. Throws where the library
  /// cannot compute it.
  CudaGemm(const Blas &blas, const hs_entry &entry);
  CudaGemm(const CudaGemm &) = delete;
  CudaGemm &operator=(const CudaGemm &) = delete;
  ~CudaGemm();

  /// Enqueues it. `buffers` are the addresses of the entry's slices.
  void run(const Address *buffers, Stream stream) const;

private:
  MatrixLayout layout(uint32_t type, int64_t rows, int64_t columns, int64_t leading,
                      int64_t stride) const;

  const Blas &blas;
  const hs_gemm &gemm;
  const uint32_t result;         ///< the index of its slice; the workspace's is the next
  const uint64_t workspaceBytes; ///< 0: there is none
  MatmulDescription description = nullptr;
  MatrixLayout a = nullptr, b = nullptr, c = nullptr;
  MatmulAlgorithm algorithm{};
};

} // namespace halfstep::runtime::cuda

#endif

//===- WidenedProduct.h - 16-bit matrix products in f32 -----------------------------*- C++ -*-===//
//
// Where oneDNN has no product of 16-bit types for this CPU: f16 without AVX512-FP16, bf16 without
// AVX512. A block is converted into f32 scratch memory, which the caches hold, and multiplied
// there. A k-th part follows the other, so that scratch memory has a bound for any shape.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_WIDENEDPRODUCT_H
#define HALFSTEP_RUNTIME_WIDENEDPRODUCT_H

#include "runtime/GemmBlock.h"
#include "runtime/OneDnn.h"

namespace halfstep::runtime {

/// A matrix product of fixed shape, its operands f16, bf16 or f32, ready to run.
class WidenedProduct {
public:
  /// Run by up to `workers` workers at once. `gemm` is one of a widened block; `scratch` is read
  /// when it runs.
  WidenedProduct(OneDnn &oneDnn, const WorkerMemory &scratch, const hs_gemm &gemm, int workers);

  /// On one thread; an OnOneThread must live. `bias` as OneDnnProduct::run.
  void run(int worker, const void *a, const void *b, void *c, const void *bias) const;

private:
  // A batch of stored matrices, and what of them is multiplied at once.
  struct Operand {
    uint32_t type;
    int64_t batch, batchStride, leading;
    int64_t rows, columns; // of the part, as stored
    bool isAlongColumns;   // parts follow each other along the columns, not the rows

    int64_t elements() const { return batch * rows * columns; }
    void widen(const char *source, int64_t begin, int64_t length, float *target) const;
  };

  hs_gemm partGemm() const;
  void round(float *sums, char *c, const char *bias) const;

  const WorkerMemory &scratch;
  const hs_gemm gemm;
  const int64_t part; // of k, multiplied at once
  const Operand a, b;
  const OneDnnProduct product; // sums += op(a) op(b), all f32
};

} // namespace halfstep::runtime

#endif

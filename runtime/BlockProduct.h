//===- BlockProduct.h - The matrix product of a convolution's block -----------------*- C++ -*-===//
#ifndef HALFSTEP_RUNTIME_BLOCKPRODUCT_H
#define HALFSTEP_RUNTIME_BLOCKPRODUCT_H

#include "runtime/OneDnn.h"

#include <memory>

namespace halfstep::runtime {

/// c = op(a) op(b), or c += op(a) op(b), of fixed shape on one thread: by oneDNN or, in f64 and
/// where a dimension is so small that there is nothing to pack, by loops.
class BlockProduct {
public:
  /// Whether there is a fast product of these types on this CPU.
  static bool isSupported(const hs_gemm &gemm);

  /// `oneDnn` may be null for f64. `gemm.batch` is 1.
  BlockProduct(OneDnn *oneDnn, const hs_gemm &gemm, bool accumulate);

  /// oneDNN needs a living OnOneThread.
  void run(int worker, const void *a, const void *b, void *c) const;

private:
  const hs_gemm gemm;
  const bool accumulate;
  std::unique_ptr<OneDnnProduct> library;
};

} // namespace halfstep::runtime

#endif

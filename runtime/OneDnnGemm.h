//===- OneDnnGemm.h - Large matrix products by oneDNN -------------------------------*- C++ -*-===//
#ifndef HALFSTEP_RUNTIME_ONEDNNGEMM_H
#define HALFSTEP_RUNTIME_ONEDNNGEMM_H

#include "runtime/GemmBlock.h"
#include "runtime/OneDnn.h"
#include "runtime/WidenedProduct.h"

#include <array>
#include <memory>

namespace halfstep::runtime {

/// One product of fixed shape, cut into blocks, ready to run.
class OneDnnGemm {
public:
  /// Where oneDNN does not know the types on this CPU, blocks are multiplied in f32. `scratch` is
  /// read when it runs.
  OneDnnGemm(OneDnn &oneDnn, const WorkerMemory &scratch, const hs_gemm &gemm);

  /// The number of blocks.
  int64_t units() const { return batchBlocks * rowBlocks * columnBlocks; }

  /// A range kernel over blocks. Buffers: a, b, the bias if there is one, c, the OneDnnGemm.
  static void run(void *const *buffers, int64_t lo, int64_t hi);
  static void runWithBias(void *const *buffers, int64_t lo, int64_t hi);

private:
  struct Buffers {
    const char *a, *b, *bias;
    char *c;
  };
  // A product of one size of block: one of the two.
  struct Product {
    std::unique_ptr<OneDnnProduct> direct;
    std::unique_ptr<WidenedProduct> widened;
  };

  void runBlocks(const Buffers &buffers, int64_t lo, int64_t hi) const;
  void runBlock(const Buffers &buffers, int64_t index, int worker) const;

  const hs_gemm gemm;
  const bool widens;
  const GemmBlock block;
  const int64_t batchBlocks, rowBlocks, columnBlocks;
  std::array<Product, 8> products; // as blockProducts
};

} // namespace halfstep::runtime

#endif

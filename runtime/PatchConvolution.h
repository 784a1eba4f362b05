//===- PatchConvolution.h - What convolutions by products with patches share --------*- C++ -*-===//
//
// Convolution.h and ChannelsLastConvolution.h cut different matrices; types, scratch memory and the
// way in are the same.
//
// Three types: of storage, of a product's operands (that of storage, or f32 where this CPU has no
// product of it) and of sums (f32; f64 for f64).
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_PATCHCONVOLUTION_H
#define HALFSTEP_RUNTIME_PATCHCONVOLUTION_H

#include "runtime/BlockProduct.h"
#include "runtime/ConvolutionBlock.h"
#include "runtime/Rows.h"

#include <optional>

namespace halfstep::runtime {

class PatchConvolution {
protected:
  /// `oneDnn` may be null for f64.
  PatchConvolution(const hs_conv &conv, const WorkerMemory &scratch, OneDnn *oneDnn);

  bool isKind(hs_conv_kind kind) const { return conv.kind == uint32_t(kind); }

  /// What the types and the window allow to be read and written in place.
  void decideByTypes();

  /// A matrix product of the operands' and the sums' types.
  struct Product {
    bool transposeA, transposeB;
    int64_t m, n, k, lda, ldb, ldc;
  };
  hs_gemm asGemm(const Product &product) const;

  /// The slices by what they are.
  struct Slices {
    void *x, *w, *y; // or their gradients
  };
  Slices slicesOf(void *const *buffers) const;

  /// Runs units [lo, hi) with a Runner(self, buffers) of storage, operand and sum.
  template <template <typename, typename, typename> class Runner, typename Self>
  static void runUnits(const Self &self, void *const *buffers, int64_t lo, int64_t hi) {
    std::optional<OnOneThread> guard;
    if (self.oneDnn)
      guard.emplace();
    visitTypes(self.storageType, [&](auto storage, auto sum) {
      using Storage = decltype(storage);
      using Sum = decltype(sum);
      auto runAll = [&](const auto &runner) {
        for (int64_t unit = lo; unit < hi; ++unit)
          runner.run(unit);
      };
      if (self.operandType == self.storageType)
        runAll(Runner<Storage, Storage, Sum>(self, buffers));
      else
        runAll(Runner<Storage, Sum, Sum>(self, buffers));
    });
  }

  const hs_conv conv;
  const WorkerMemory &scratch; // read when units run
  OneDnn *const oneDnn;
  const int64_t points, inputs, outputs;      // of the window, of an image's channel of x and of y
  uint32_t storageType, operandType, sumType; // hs_type
  // Whether a product works right on x (a window of one point that reads each input once) or y.
  bool isPatchless, isOutputInPlace;
  ConvolutionScratch offsets{};
};

} // namespace halfstep::runtime

#endif

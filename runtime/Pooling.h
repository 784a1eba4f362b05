//===- Pooling.h - Maxima and means under a sliding window --------------------------*- C++ -*-===//
#ifndef HALFSTEP_RUNTIME_POOLING_H
#define HALFSTEP_RUNTIME_POOLING_H

#include "runtime/Memory.h"
#include "runtime/PoolingBlock.h"
#include "runtime/step_abi.h"

namespace halfstep::runtime {

/// A pooling or its adjoint, of fixed shape, ready to run. Planes of 16 bits are widened into
/// scratch memory; sums are f64 there, a part of a very large plane at a time.
class Pooling {
public:
  /// `scratch` is read when it runs.
  Pooling(const hs_pool &pool, const WorkerMemory &scratch);

  /// The range kernel. A unit is a plane: each number is computed by one thread in one order.
  /// Buffers: those of the kind, the Pooling.
  hs_kernel kernel() const;

  int64_t units() const { return pool.batch * pool.channels; }
  /// Units that are worth a task.
  int64_t grain() const;

private:
  template <typename Storage, typename Number, uint32_t Kind>
  static void run(void *const *buffers, int64_t lo, int64_t hi);
  template <typename Storage, typename Number> hs_kernel kernelOfKind() const;

  const hs_pool &pool;
  const WorkerMemory &scratch;
  const PoolingScratch offsets;
  const int64_t inputs, outputs; // of a plane
};

} // namespace halfstep::runtime

#endif

//===- ChannelsLastPooling.h - Pooling whose channels lie together ------------------*- C++ -*-===//
//
// As Pooling.h, for x as [batch, input..., channels]: loops over vectors of channels. Each number
// is computed by itself, in the order in which Pooling.h does, so that both layouts give the same
// bits; what two windows add to is therefore computed from what it reads, and the place of a
// window's maximum is looked for once for each row of x.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CHANNELSLASTPOOLING_H
#define HALFSTEP_RUNTIME_CHANNELSLASTPOOLING_H

#include "runtime/Memory.h"
#include "runtime/PoolingBlock.h"
#include "runtime/step_abi.h"

#include <vector>

namespace halfstep::runtime {

/// A channels-last pooling or its adjoint, of fixed shape, ready to run.
class ChannelsLastPooling {
public:
  /// `scratch` is read when it runs.
  ChannelsLastPooling(const hs_pool &pool, const WorkerMemory &scratch);

  /// A unit is a row of the result.
  int64_t units() const;
  /// Units that are worth a task.
  int64_t grain() const;

  /// The range kernel. Buffers: those of the kind, the ChannelsLastPooling.
  hs_kernel kernel() const;

private:
  template <typename Storage, typename Number> class Runner;
  template <typename Storage, typename Number, bool HasTwo>
  static void runRows(void *const *buffers, int64_t lo, int64_t hi);
  template <typename Storage, typename Number> hs_kernel kernelOf() const;

  /// The sizes of what is computed.
  const int64_t (&resultSizes() const)[3] {
    return isAdjoint(pool) ? pool.window.input : pool.window.output;
  }

  const hs_pool &pool;
  const WorkerMemory &scratch;
  // For each spatial dimension: how many points of the window at an output count for an average.
  std::vector<int64_t> counts[3];
};

} // namespace halfstep::runtime

#endif

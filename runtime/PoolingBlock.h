//===- PoolingBlock.h - How a pooling is cut ----------------------------------------*- C++ -*-===//
//
// As ConvolutionBlock.h, for poolings.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_POOLINGBLOCK_H
#define HALFSTEP_RUNTIME_POOLINGBLOCK_H

#include "runtime/step_abi.h"

namespace halfstep::runtime {

bool isAdjoint(const hs_pool &pool);

/// The scratch memory of a pooling, in bytes: what of a plane of the result is computed at once,
/// and operands of 16 bits that are widened. A result that is its own sum takes none.
struct PoolingScratch {
  int64_t resultBlock;    // elements of a plane of the result
  bool widensX, widensDy; // whole planes; larger ones are widened number by number
  int64_t x, dy, end;     // where they begin, behind the result
};

PoolingScratch layOutScratch(const hs_pool &pool);

/// Channels that a channels-last pooling computes together, in local arrays: a few vectors.
inline constexpr int64_t pooledChannels = 64;

/// Positions of a row of x that a channels-last adjoint computes together, in scratch memory.
int64_t pooledPositions(const hs_pool &pool);

/// The scratch memory of a channels-last pooling, in bytes.
int64_t channelsLastPoolingBytes(const hs_pool &pool);

} // namespace halfstep::runtime

#endif

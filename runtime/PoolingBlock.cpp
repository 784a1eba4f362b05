//===- PoolingBlock.cpp - How a pooling is cut
//--------------------------------------------------===//

#include "runtime/PoolingBlock.h"

#include "runtime/Types.h"
#include "runtime/Window.h"

#include <algorithm>

namespace halfstep::runtime {

bool isAdjoint(const hs_pool &pool) {
  return pool.kind == HS_POOL_MAX_GRADIENT || pool.kind == HS_POOL_AVERAGE_GRADIENT;
}

PoolingScratch layOutScratch(const hs_pool &pool) {
  constexpr int64_t mostElements = 1 << 19; // four megabytes of sums
  int64_t inputs = volumeOf(pool.window.input), outputs = volumeOf(pool.window.output);
  int64_t result = isAdjoint(pool) ? inputs : outputs;
  bool isMaximum = pool.kind == HS_POOL_MAX; // which is no sum, and f32 in 16 bits
  bool isInPlace = isMaximum ? !isHalf(pool.type) : pool.type == HS_F64;
  PoolingScratch scratch{result, false, false, 0, 0, 0};
  if (!isInPlace) {
    scratch.resultBlock = std::min(result, mostElements);
    scratch.x = scratch.resultBlock * int64_t(isMaximum ? sizeof(float) : sizeof(double));
  }
  if (isHalf(pool.type)) {
    scratch.widensX = pool.kind != HS_POOL_AVERAGE_GRADIENT && inputs <= mostElements;
    scratch.widensDy = isAdjoint(pool) && outputs <= mostElements;
  }
  scratch.dy = scratch.x + (scratch.widensX ? inputs * int64_t(sizeof(float)) : 0);
  scratch.end = scratch.dy + (scratch.widensDy ? outputs * int64_t(sizeof(float)) : 0);
  return scratch;
}

int64_t pooledPositions(const hs_pool &pool) {
  return std::min<int64_t>(pool.window.input[2], 4096);
}

int64_t channelsLastPoolingBytes(const hs_pool &pool) {
  return isAdjoint(pool) ? pooledPositions(pool) * pooledChannels * int64_t(sizeof(double)) : 0;
}

} // namespace halfstep::runtime

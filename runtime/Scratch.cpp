//===- Scratch.cpp - Scratch memory of the entries of a step ----------------------------------===//

#include "runtime/Scratch.h"

#include "runtime/ConvolutionBlock.h"
#include "runtime/GemmBlock.h"
#include "runtime/PoolingBlock.h"
#include "runtime/Types.h"

#include <algorithm>

namespace halfstep::runtime {

static uint64_t sumBytes(uint32_t type) { return type == HS_F64 ? sizeof(double) : sizeof(float); }

static uint64_t bytesOf(const hs_gemm &gemm) {
  if (!isHalf(gemm.a_type) && !isHalf(gemm.b_type) && !isHalf(gemm.c_type))
    return 0;
  int64_t most = 0;
  for (const hs_gemm &block : blockProducts(gemm, chooseWidenedBlock(gemm)))
    if (block.batch)
      most = std::max(most, widenedElements(block));
  return uint64_t(most) * sizeof(float);
}

static uint64_t bytesOf(const hs_conv &conv) {
  if (isDepthwise(conv)) {
    DepthwiseScratch scratch = layOutScratch(conv, chooseDepthwiseBlock(conv));
    return uint64_t(scratch.rows) * sumBytes(conv.a_type) +
           uint64_t(scratch.rowCount) * sizeof(DepthwiseRow);
  }
  int64_t elements = conv.channels_last ? layOutScratch(conv, chooseChannelsLastBlock(conv)).end
                                        : layOutScratch(conv, chooseConvolutionBlock(conv)).end;
  return uint64_t(elements) * sumBytes(conv.a_type);
}

static uint64_t bytesOf(const hs_pool &pool) {
  return uint64_t(pool.channels_last ? channelsLastPoolingBytes(pool) : layOutScratch(pool).end);
}

uint64_t scratchBytes(uint32_t kind, const void *detail) {
  constexpr uint64_t page = 4096;
  auto pages = [](uint64_t bytes) { return (bytes + page - 1) / page * page; };
  switch (kind) {
  case HS_GEMM:
    return pages(bytesOf(*static_cast<const hs_gemm *>(detail)));
  case HS_CONV:
    return pages(bytesOf(*static_cast<const hs_conv *>(detail)));
  case HS_POOL:
    return pages(bytesOf(*static_cast<const hs_pool *>(detail)));
  default:
    return 0;
  }
}

} // namespace halfstep::runtime

//===- Shuffle.cpp - The order of samples in an epoch -----------------------------------------===//

#include "runtime/Shuffle.h"

#include "runtime/Philox.h"

#include <numeric>
#include <utility>

namespace halfstep::runtime {

void shuffleSamples(std::vector<uint64_t> &order, uint64_t seed, uint64_t epoch) {
  const PhiloxKey key = {uint32_t(seed), uint32_t(seed >> 32) ^ 0x53687566u};
  std::iota(order.begin(), order.end(), uint64_t{0});

  PhiloxCounter bits = {};
  for (uint64_t i = order.size(); i-- > 1;) {
    uint64_t block = i / 2;
    if (i % 2 == 1 || i + 1 == order.size())
      bits = philox(
          {uint32_t(block), uint32_t(block >> 32), uint32_t(epoch), uint32_t(epoch >> 32)}, key);
    unsigned low = i % 2 * 2;
    uint64_t draw = uint64_t{bits[low + 1]} << 32 | bits[low];
    uint64_t j = uint64_t(static_cast<unsigned __int128>(draw) * (i + 1) >> 64);
    std::swap(order[i], order[j]);
  }
}

} // namespace halfstep::runtime

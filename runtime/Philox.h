//===- Philox.h - Counter-based random numbers --------------------------------------*- C++ -*-===//
//
// Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011). A draw is a pure function of (key, counter), so that any position of any stream can be
// recomputed without state: what resuming bit for bit rests on.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_PHILOX_H
#define HALFSTEP_RUNTIME_PHILOX_H

#include <array>
#include <cstdint>

namespace halfstep::runtime {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// The 128 random bits of `counter` in the stream of `key`: ten rounds.
constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t{0xD2511F53} * counter[0];
    uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

} // namespace halfstep::runtime

#endif

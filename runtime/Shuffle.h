//===- Shuffle.h - The order of samples in an epoch ---------------------------------*- C++ -*-===//
//
// The order in which an epoch visits the samples: a pure function of (seed, epoch, sample count),
// so that resuming needs no stored generator.
//
// Fisher and Yates' shuffle, from the last position down: position i is swapped with j, uniform in
// [0, i]. j is the high word of r * (i + 1), where r is the 64-bit draw of position i; its bias is
// below (i + 1) / 2^64. r is half i mod 2 of philox(counter = {i / 2, epoch}, key = seed), both 64
// bits wide, low word first; the key's high word is XORed with "Shuf" to keep the stream apart from
// those of random ops under the same seed.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_SHUFFLE_H
#define HALFSTEP_RUNTIME_SHUFFLE_H

#include <cstdint>
#include <vector>

namespace halfstep::runtime {

/// Fills `order`, whose size is the sample count, with the order of `epoch` (counted from 0).
void shuffleSamples(std::vector<uint64_t> &order, uint64_t seed, uint64_t epoch);

} // namespace halfstep::runtime

#endif

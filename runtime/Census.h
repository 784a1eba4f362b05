//===- Census.h - What a tensor holds -----------------------------------------------*- C++ -*-===//
#ifndef HALFSTEP_RUNTIME_CENSUS_H
#define HALFSTEP_RUNTIME_CENSUS_H

#include <cstdint>

namespace halfstep::runtime {

/// How many of a tensor's numbers are of which kind. What is no float has none of any.
struct Census {
  uint64_t elements = 0, nonFinite = 0, zeros = 0;
  uint64_t subnormals = 0; // not zero, but below the smallest normal number of the type
  uint64_t saturated = 0;  // at the largest finite number of the type
  double largest = 0;      // magnitude of the finite ones

  Census &operator+=(const Census &other);
};

/// Of `bytes` of an hs_type.
Census takeCensus(uint32_t type, const void *data, uint64_t bytes);

/// The largest finite number of a 16-bit float type (IEEE 754-2019, table 3.5; bf16 has 8 bits of
/// exponent and 7 of fraction).
double largestHalf(uint32_t type);

} // namespace halfstep::runtime

#endif

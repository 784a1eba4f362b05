//===- Census.cpp - What a tensor holds -------------------------------------------------------===//
//
// The bits of a magnitude, read as an integer, are in the order of the numbers: each kind is a
// range of integers, and one loop without branches does for all types.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Census.h"

#include "runtime/Half.h"
#include "runtime/step_abi.h"

#include <algorithm>

namespace halfstep::runtime {

Census &Census::operator+=(const Census &other) {
  elements += other.elements;
  nonFinite += other.nonFinite;
  zeros += other.zeros;
  subnormals += other.subnormals;
  saturated += other.saturated;
  largest = std::max(largest, other.largest);
  return *this;
}

double largestHalf(uint32_t type) { return type == HS_F16 ? 0x1.FFCp15 : 0x1.FEp127; }

/// `fractionBits` are those below the exponent, which ends below the sign.
template <typename Bits, int fractionBits, typename Widen>
static Census count(const void *data, uint64_t bytes, Widen widen) {
  constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  constexpr Bits normal = Bits(Bits(1) << fractionBits), infinity = Bits(sign - normal);
  Census census;
  census.elements = bytes / sizeof(Bits);
  auto *elements = static_cast<const Bits *>(data);
  Bits largest = 0;
  for (uint64_t i = 0; i < census.elements; ++i) {
    Bits magnitude = Bits(elements[i] & Bits(~sign));
    census.zeros += magnitude == 0;
    census.subnormals += magnitude != 0 && magnitude < normal;
    census.saturated += magnitude == Bits(infinity - 1);
    census.nonFinite += magnitude >= infinity;
    largest = std::max(largest, magnitude < infinity ? magnitude : Bits(0));
  }
  census.largest = widen(largest);
  return census;
}

Census takeCensus(uint32_t type, const void *data, uint64_t bytes) {
  switch (type) {
  case HS_F32:
    return count<uint32_t, 23>(data, bytes, bitCast<float, uint32_t>);
  case HS_F64:
    return count<uint64_t, 52>(data, bytes, bitCast<double, uint64_t>);
  case HS_F16:
    return count<uint16_t, 10>(data, bytes, halfToFloat);
  case HS_BF16:
    return count<uint16_t, 7>(data, bytes, bfloatToFloat);
  default:
    return {};
  }
}

} // namespace halfstep::runtime

//===- Census.cpp - What a tensor holds -------------------------------------------------------===//

#include "runtime/Census.h"

#include "runtime/Half.h"
#include "runtime/step_abi.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

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

double largestOf(uint32_t type) {
  switch (type) {
  case HS_F16:
    return 0x1.FFCp15; // 65504
  case HS_BF16:
    return 0x1.FEp127;
  case HS_F32:
    return FLT_MAX;
  default:
    return DBL_MAX;
  }
}

/// f16 has an exponent of its own; bf16 has that of f32.
static double smallestNormalOf(uint32_t type) {
  switch (type) {
  case HS_F16:
    return 0x1p-14;
  case HS_BF16:
  case HS_F32:
    return FLT_MIN;
  default:
    return DBL_MIN;
  }
}

template <typename T> static Census count(uint32_t type, const void *data, uint64_t bytes) {
  const double most = largestOf(type), least = smallestNormalOf(type);
  Census census;
  census.elements = bytes / sizeof(T);
  auto *elements = static_cast<const T *>(data);
  for (uint64_t i = 0; i < census.elements; ++i) {
    double magnitude = std::fabs(double(widen(elements[i])));
    if (!std::isfinite(magnitude)) {
      ++census.nonFinite;
      continue;
    }
    census.largest = std::max(census.largest, magnitude);
    census.zeros += magnitude == 0;
    census.subnormals += magnitude > 0 && magnitude < least;
    census.saturated += magnitude == most;
  }
  return census;
}

Census takeCensus(uint32_t type, const void *data, uint64_t bytes) {
  switch (type) {
  case HS_F32:
    return count<float>(type, data, bytes);
  case HS_F64:
    return count<double>(type, data, bytes);
  case HS_F16:
    return count<Half>(type, data, bytes);
  case HS_BF16:
    return count<BFloat>(type, data, bytes);
  default:
    return {};
  }
}

} // namespace halfstep::runtime

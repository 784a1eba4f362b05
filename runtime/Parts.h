//===- Parts.h - Sizes of parts -----------------------------------------------------*- C++ -*-===//
#ifndef HALFSTEP_RUNTIME_PARTS_H
#define HALFSTEP_RUNTIME_PARTS_H

#include <algorithm>
#include <cstdint>

namespace halfstep::runtime {

/// How many parts of `b` it takes to cover `a`.
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The size of even parts of `whole`, none above `most` or empty.
inline int64_t evenPart(int64_t whole, int64_t most) {
  return ceilDiv(whole, ceilDiv(whole, std::max<int64_t>(1, most)));
}

} // namespace halfstep::runtime

#endif

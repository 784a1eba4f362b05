//===- Half.h - 16-bit floating point as bit patterns -------------------------------*- C++ -*-===//
//
// Conversions between f16/bf16 bit patterns and f32/f64, in integer code that a compiler vectorises
// for the oldest x86-64: the runtime itself must not need F16C. Narrowing rounds once, to nearest
// even; overflow gives infinity; a NaN stays a quiet NaN. What the bits mean: IEEE 754-2019.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_HALF_H
#define HALFSTEP_RUNTIME_HALF_H

#include <cstdint>
#include <cstring>

namespace halfstep::runtime {

template <typename To, typename From> To bitCast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

/// Exact. A subnormal is normalised by f32 arithmetic: its bits, read as the fraction of 2^-14 and
/// with the implied one subtracted again.
inline float halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t{half & 0x8000u} << 16;
  uint32_t magnitude = uint32_t{half & 0x7FFFu} << 13;
  uint32_t exponent = magnitude & 0x0F800000u;
  uint32_t normal = magnitude + (112u << 23);
  uint32_t special = magnitude + (224u << 23);
  uint32_t subnormal =
      bitCast<uint32_t>(bitCast<float>(magnitude + (113u << 23)) - bitCast<float>(113u << 23));
  uint32_t bits = exponent == 0x0F800000u ? special : exponent == 0 ? subnormal : normal;
  return bitCast<float>(bits | sign);
}

/// Below the smallest normal f16 (2^-14) one f32 addition of 0.5 aligns the fraction and rounds it
/// (the unit in the last place of 0.5 is 2^-24, f16's smallest subnormal); above, the carry of an
/// integer addition does.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t odd = (magnitude >> 13) & 1u;
  uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + odd) >> 13;
  uint32_t subnormal = bitCast<uint32_t>(bitCast<float>(magnitude) + 0.5f) - (126u << 23);
  uint32_t result = magnitude > 0x7F800000u    ? 0x7E00u | ((magnitude >> 13) & 0x1FFu)
                    : magnitude >= 0x477FF000u ? 0x7C00u // from 65520 up: infinity
                    : magnitude < 0x38800000u  ? subnormal
                                               : normal;
  return uint16_t(result | sign);
}

inline float bfloatToFloat(uint16_t bfloat) { return bitCast<float>(uint32_t{bfloat} << 16); }

inline uint16_t floatToBfloat(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  return uint16_t(nan ? (bits >> 16) | 0x40u : rounded);
}

/// Types of their own for what C++ has none, for code that is written once for all types.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
inline float widen(Half value) { return halfToFloat(value.bits); }
inline float widen(BFloat value) { return bfloatToFloat(value.bits); }
inline float widen(float value) { return value; }
inline double widen(double value) { return value; }
inline void narrow(float value, Half &to) { to.bits = floatToHalf(value); }
inline void narrow(float value, BFloat &to) { to.bits = floatToBfloat(value); }
inline void narrow(float value, float &to) { to = value; }
inline void narrow(double value, double &to) { to = value; }

/// f64 to f32 rounded to odd: what lies between two f32 goes to the odd one. A further rounding to
/// a type at least two bits narrower then gives what one rounding from f64 gives (Boldo, Melquiond
/// 2008).
inline float roundToOdd(double value) {
  float nearest = float(value);
  uint32_t bits = bitCast<uint32_t>(nearest);
  bool inexact = double(nearest) != value && value == value;
  if (!inexact || (bits & 1u))
    return nearest;
  // The even neighbour was chosen: the odd one is on the other side of `value`. Infinity goes back
  // to the largest number.
  double magnitude = value < 0 ? -value : value;
  float nearestMagnitude = nearest < 0 ? -nearest : nearest;
  return bitCast<float>(double(nearestMagnitude) < magnitude ? bits + 1 : bits - 1);
}

inline uint16_t doubleToHalf(double value) { return floatToHalf(roundToOdd(value)); }
inline uint16_t doubleToBfloat(double value) { return floatToBfloat(roundToOdd(value)); }

} // namespace halfstep::runtime

#endif

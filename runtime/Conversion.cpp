//===- Conversion.cpp - From what files hold to what steps read -------------------------------===//

#include "runtime/Conversion.h"

#include "runtime/Half.h"

#include <limits>
#include <type_traits>

namespace halfstep::runtime {

namespace {

// A type of its own, so that templates can tell it apart.
struct Bool {
  uint8_t byte;
};

template <typename T> T load(const char *element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

/// The value of an element as a C++ number; exact.
float number(Half value) { return halfToFloat(value.bits); }
uint8_t number(Bool value) { return value.byte != 0; }
template <typename T> T number(T value) { return value; }

template <typename To, typename From> To round(From value) {
  if constexpr (std::is_same_v<To, Half>) {
    if constexpr (std::is_same_v<From, float>)
      return {floatToHalf(value)};
    return {doubleToHalf(double(value))};
  } else if constexpr (std::is_same_v<To, BFloat>) {
    if constexpr (std::is_same_v<From, float>)
      return {floatToBfloat(value)};
    return {doubleToBfloat(double(value))};
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {uint8_t(value)};
  } else {
    return To(value);
  }
}

/// Can `To` hold the value? Decided at compile time but for narrowing integers.
template <typename To, typename From> bool holds(From value) {
  if constexpr (std::is_integral_v<To>)
    return int64_t(value) >= std::numeric_limits<To>::lowest() &&
           int64_t(value) <= std::numeric_limits<To>::max();
  return true;
}

template <typename From, typename To>
size_t convertElements(const char *source, char *target, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    auto value = number(load<From>(source + i * sizeof(From)));
    if (!holds<To>(value))
      return i;
    To result = round<To>(value);
    std::memcpy(target + i * sizeof(To), &result, sizeof result);
  }
  return count;
}

template <typename From> Conversion findConversionFrom(hs_type to) {
  constexpr bool isBool = std::is_same_v<From, Bool>;
  switch (to) {
  case HS_F32:
    return convertElements<From, float>;
  case HS_F64:
    return convertElements<From, double>;
  case HS_F16:
    return convertElements<From, Half>;
  case HS_BF16:
    return convertElements<From, BFloat>;
  default:
    break;
  }
  if constexpr (isBool)
    if (to == HS_BOOL)
      return convertElements<From, Bool>;
  if constexpr (isBool || std::is_integral_v<From>)
    switch (to) {
    case HS_I8:
      return convertElements<From, int8_t>;
    case HS_U8:
      return convertElements<From, uint8_t>;
    case HS_I32:
      return convertElements<From, int32_t>;
    case HS_I64:
      return convertElements<From, int64_t>;
    default:
      break;
    }
  return nullptr;
}

template <typename T>
size_t findInvalid(const char *ids, size_t count, int64_t classCount, int64_t ignored) {
  for (size_t i = 0; i < count; ++i) {
    int64_t id = int64_t(load<T>(ids + i * sizeof(T)));
    // One comparison: a negative id becomes a huge unsigned number.
    if (uint64_t(id) >= uint64_t(classCount) && id != ignored)
      return i;
  }
  return count;
}

} // namespace

Conversion findConversion(NpyType from, hs_type to) {
  switch (from) {
  case NpyType::F16:
    return findConversionFrom<Half>(to);
  case NpyType::F32:
    return findConversionFrom<float>(to);
  case NpyType::F64:
    return findConversionFrom<double>(to);
  case NpyType::Bool:
    return findConversionFrom<Bool>(to);
  case NpyType::I8:
    return findConversionFrom<int8_t>(to);
  case NpyType::U8:
    return findConversionFrom<uint8_t>(to);
  case NpyType::I16:
    return findConversionFrom<int16_t>(to);
  case NpyType::I32:
    return findConversionFrom<int32_t>(to);
  case NpyType::I64:
    return findConversionFrom<int64_t>(to);
  }
  return nullptr;
}

bool isSameStorage(NpyType from, hs_type to) {
  switch (from) {
  case NpyType::F16:
    return to == HS_F16;
  case NpyType::F32:
    return to == HS_F32;
  case NpyType::F64:
    return to == HS_F64;
  case NpyType::I8:
    return to == HS_I8;
  case NpyType::U8:
    return to == HS_U8;
  case NpyType::I32:
    return to == HS_I32;
  case NpyType::I64:
    return to == HS_I64;
  case NpyType::I16:
  case NpyType::Bool:
    return false;
  }
  return false;
}

int64_t integerAt(NpyType type, const char *element) {
  switch (type) {
  case NpyType::I16:
    return load<int16_t>(element);
  case NpyType::I32:
    return load<int32_t>(element);
  case NpyType::I64:
    return load<int64_t>(element);
  case NpyType::I8:
    return load<int8_t>(element);
  default:
    return load<uint8_t>(element);
  }
}

size_t findInvalidClass(hs_type type, const char *ids, size_t count, int64_t classCount,
                        int64_t ignored) {
  switch (type) {
  case HS_I32:
    return findInvalid<int32_t>(ids, count, classCount, ignored);
  case HS_I64:
    return findInvalid<int64_t>(ids, count, classCount, ignored);
  case HS_I8:
    return findInvalid<int8_t>(ids, count, classCount, ignored);
  case HS_U8:
    return findInvalid<uint8_t>(ids, count, classCount, ignored);
  default:
    return count;
  }
}

} // namespace halfstep::runtime

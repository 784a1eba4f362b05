//===- Types.cpp - The storage types ----------------------------------------------------------===//
//
// Every type has one row in a table; conversions are instances of one loop over a pair of types, in
// a form that compilers vectorise.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Types.h"

#include "runtime/Half.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>

namespace halfstep::runtime {

namespace {

struct TypeRow {
  std::string_view name;
  size_t bytes;
};

constexpr TypeRow rows[] = {{"F32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"BOOL", 1},
                            {"I8", 1},  {"U8", 1},  {"I32", 4}, {"I64", 8}};

// How a type is stored, and the number that its bits mean.
template <typename T> struct Number {
  using Stored = T;
  static T load(T stored) { return stored; }
  template <typename Value> static T store(Value value) { return T(value); }
};
struct Float16 {
  using Stored = uint16_t;
  static float load(uint16_t stored) { return halfToFloat(stored); }
  static uint16_t store(float value) { return floatToHalf(value); }
  static uint16_t store(double value) { return doubleToHalf(value); }
};
struct Bfloat16 {
  using Stored = uint16_t;
  static float load(uint16_t stored) { return bfloatToFloat(stored); }
  static uint16_t store(float value) { return floatToBfloat(value); }
  static uint16_t store(double value) { return doubleToBfloat(value); }
};

template <typename From, typename To>
void convertEach(const char *source, char *target, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    typename From::Stored from;
    std::memcpy(&from, source + i * sizeof from, sizeof from);
    typename To::Stored to = To::store(From::load(from));
    std::memcpy(target + i * sizeof to, &to, sizeof to);
  }
}

template <typename To>
void convertTo(hs_type from, const char *source, char *target, size_t count) {
  switch (from) {
  case HS_F32:
    return convertEach<Number<float>, To>(source, target, count);
  case HS_F64:
    return convertEach<Number<double>, To>(source, target, count);
  case HS_F16:
    return convertEach<Float16, To>(source, target, count);
  case HS_BF16:
    return convertEach<Bfloat16, To>(source, target, count);
  default:
    assert(false && "only float types are converted");
  }
}

} // namespace

size_t elementBytes(hs_type type) { return rows[type].bytes; }

std::string_view safetensorsName(hs_type type) { return rows[type].name; }

std::optional<hs_type> typeOfSafetensorsName(std::string_view name) {
  auto row = std::find_if(std::begin(rows), std::end(rows),
                          [&](const TypeRow &row) { return row.name == name; });
  if (row == std::end(rows))
    return std::nullopt;
  return hs_type(row - rows);
}

std::string describe(hs_type type, const std::vector<int64_t> &shape) {
  std::string text(safetensorsName(type));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ']';
}

std::string describe(const hs_tensor &tensor) {
  return describe(hs_type(tensor.type), shapeOf(tensor));
}

std::vector<int64_t> shapeOf(const hs_tensor &tensor) {
  return {tensor.shape, tensor.shape + tensor.rank};
}

size_t elementCount(const hs_tensor &tensor) {
  size_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= size_t(tensor.shape[i]);
  return count;
}

static bool isFloat(hs_type type) {
  return type == HS_F32 || type == HS_F64 || type == HS_F16 || type == HS_BF16;
}

bool isConvertible(hs_type from, hs_type to) {
  return from == to || (isFloat(from) && isFloat(to));
}

void convert(const void *source, hs_type from, void *target, hs_type to, size_t count) {
  assert(isConvertible(from, to) && "only equal types, or two float types");
  auto *in = static_cast<const char *>(source);
  auto *out = static_cast<char *>(target);
  if (from == to)
    std::memcpy(out, in, count * elementBytes(to));
  else if (to == HS_F32)
    convertTo<Number<float>>(from, in, out, count);
  else if (to == HS_F64)
    convertTo<Number<double>>(from, in, out, count);
  else if (to == HS_F16)
    convertTo<Float16>(from, in, out, count);
  else
    convertTo<Bfloat16>(from, in, out, count);
}

} // namespace halfstep::runtime

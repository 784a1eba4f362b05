//===- Types.h - The storage types --------------------------------------------------*- C++ -*-===//
//
// Sizes, names and conversions of the types of step_abi.h.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_TYPES_H
#define HALFSTEP_RUNTIME_TYPES_H

#include "runtime/step_abi.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::runtime {

/// Bytes of one element.
size_t elementBytes(hs_type type);

/// Whether a type has 16-bit floats.
inline bool isHalf(uint32_t type) { return type == HS_F16 || type == HS_BF16; }

/// The name of a type in safetensors files: "F32", "BF16", "BOOL", ...
std::string_view safetensorsName(hs_type type);

/// The type of a safetensors name; nothing for names that the runtime does not know.
std::optional<hs_type> typeOfSafetensorsName(std::string_view name);

/// "F32[64, 10]", for messages.
std::string describe(hs_type type, const std::vector<int64_t> &shape);
std::string describe(const hs_tensor &tensor);

/// The shape of a directory entry.
std::vector<int64_t> shapeOf(const hs_tensor &tensor);

/// The number of elements of a directory entry.
size_t elementCount(const hs_tensor &tensor);

/// True if `convert` takes the pair: equal types, or two float types.
bool isConvertible(hs_type from, hs_type to);

/// Converts `count` elements, rounding once to nearest, ties to even; NaN stays NaN, and what is
/// too large becomes infinity. The pair must be convertible. No alignment is asked for.
void convert(const void *source, hs_type from, void *target, hs_type to, size_t count);

} // namespace halfstep::runtime

#endif

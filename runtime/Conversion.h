//===- Conversion.h - From what files hold to what steps read -----------------------*- C++ -*-===//
//
// Conversions from what a data file holds to what a step reads.
//
// Anything converts to a float type, rounded once to nearest even (64-bit integers beyond 2^53 go
// to 16-bit types through f64). Integers and bools convert to integers that can hold the value;
// bools to bool, any nonzero byte becoming 1. What would lose meaning silently has no conversion:
// floats to integers, and numbers to bool.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CONVERSION_H
#define HALFSTEP_RUNTIME_CONVERSION_H

#include "runtime/Npy.h"

namespace halfstep::runtime {

/// Converts `count` elements, of any alignment. Returns `count`, or the index of the first element
/// whose value the target type cannot hold; `target` is then partly written.
using Conversion = size_t (*)(const char *source, char *target, size_t count);

/// Null where the pair has no conversion.
Conversion findConversion(NpyType from, hs_type to);

/// True if the bytes of a file can be used as they are. Not so for bools, whose bytes in a file may
/// be other than 0 and 1.
bool isSameStorage(NpyType from, hs_type to);

/// An integer element, for messages and range checks.
int64_t integerAt(NpyType type, const char *element);

/// The first of `count` class ids of integer type `type` that is neither in [0, classCount) nor
/// `ignored`; `count` if there is none.
size_t findInvalidClass(hs_type type, const char *ids, size_t count, int64_t classCount,
                        int64_t ignored);

} // namespace halfstep::runtime

#endif

//===- Npy.h - NumPy's file format --------------------------------------------------*- C++ -*-===//
//
// Reads the header of .npy files of versions 1 to 3 and writes version 1. numpy.lib.format
// documents them: a magic string, a version, the length of a header, the header as a Python literal
//   {'descr': '<f4', 'fortran_order': False, 'shape': (64, 10), }
// and then the elements.
//
// The parser takes bytes from anywhere: it reads nothing outside the given range, allocates nothing
// beyond it and answers every malformed header with what is wrong.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_NPY_H
#define HALFSTEP_RUNTIME_NPY_H

#include "runtime/step_abi.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::runtime {

enum class NpyType { F16, F32, F64, Bool, I8, U8, I16, I32, I64 };

/// Bytes of an element.
size_t elementBytes(NpyType type);
/// NumPy's name of the type: "float32", "int64", ...
const char *name(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::F32;
  std::vector<int64_t> shape;
  /// Product of the shape; it and its byte size fit in 63 bits.
  int64_t elements = 1;
  /// From the start of the file to the first element.
  size_t dataOffset = 0;
};

/// Parses the header at the start of `file`, the bytes of the whole file, and checks that the
/// elements it announces are all there. Throws, with the way out, on what is malformed and on
/// Fortran order, big endian, structured and unsupported element types. `path` is for messages.
NpyHeader parseNpyHeader(const std::string &path, std::string_view file);

/// The bytes before the elements of a C-ordered little-endian file; a multiple of 64.
/// `type` is one that NumPy has: not HS_BF16.
std::string npyPreamble(hs_type type, const std::vector<int64_t> &shape);

} // namespace halfstep::runtime

#endif

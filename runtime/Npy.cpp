//===- Npy.cpp - NumPy's file format ----------------------------------------------------------===//

#include "runtime/Npy.h"

#include "runtime/Error.h"

#include <cctype>

namespace halfstep::runtime {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

struct TypeName {
  NpyType type;
  std::string_view code; // without the byte order
  const char *name;
  size_t bytes;
};
constexpr TypeName types[] = {
    {NpyType::F16, "f2", "float16", 2}, {NpyType::F32, "f4", "float32", 4},
    {NpyType::F64, "f8", "float64", 8}, {NpyType::Bool, "b1", "bool", 1},
    {NpyType::I8, "i1", "int8", 1},     {NpyType::U8, "u1", "uint8", 1},
    {NpyType::I16, "i2", "int16", 2},   {NpyType::I32, "i4", "int32", 4},
    {NpyType::I64, "i8", "int64", 8},
};

/// Reads the Python literal of a header. A failed read leaves the place of failure in `rest`.
class LiteralReader {
public:
  explicit LiteralReader(std::string_view text) : rest(text) {}

  bool consume(char expected) {
    skipSpace();
    if (rest.empty() || rest.front() != expected)
      return false;
    rest.remove_prefix(1);
    return true;
  }

  /// 'text' or "text"; NumPy writes no escapes here.
  bool readString(std::string_view &text) {
    skipSpace();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos)
      return false;
    text = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return true;
  }

  bool readBool(bool &value) {
    skipSpace();
    for (std::string_view word : {std::string_view("True"), std::string_view("False")})
      if (rest.substr(0, word.size()) == word) {
        value = word == "True";
        rest.remove_prefix(word.size());
        return true;
      }
    return false;
  }

  /// A number of 0 to 2^63 - 1; Python 2 wrote an L behind it.
  bool readDimension(int64_t &value) {
    skipSpace();
    size_t digits = 0;
    for (value = 0; digits < rest.size() && isdigit((unsigned char)rest[digits]); ++digits)
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{rest[digits] - '0'}, &value))
        return false;
    rest.remove_prefix(digits);
    if (digits && !rest.empty() && rest.front() == 'L')
      rest.remove_prefix(1);
    return digits != 0;
  }

  /// (2, 3) or (2,) or ()
  bool readShape(std::vector<int64_t> &shape) {
    if (!consume('('))
      return false;
    while (!consume(')')) {
      int64_t dimension;
      if (!readDimension(dimension))
        return false;
      shape.push_back(dimension);
      if (!consume(','))
        return consume(')');
    }
    return true;
  }

  bool atEnd() {
    skipSpace();
    return rest.empty();
  }

private:
  void skipSpace() {
    while (!rest.empty() && isspace((unsigned char)rest.front()))
      rest.remove_prefix(1);
  }
  std::string_view rest;
};

uint32_t littleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | uint8_t(bytes[i]);
  return value;
}

const TypeName *findType(std::string_view code) {
  for (const TypeName &candidate : types)
    if (candidate.code == code)
      return &candidate;
  return nullptr;
}

Error malformed(const std::string &path) {
  return Error(path, "its .npy header is malformed").help("write the file again with numpy.save");
}

/// The dictionary's three entries, in any order, each once.
NpyHeader parseDictionary(const std::string &path, std::string_view text) {
  NpyHeader header;
  LiteralReader reader(text);
  std::string_view descr;
  bool fortranOrder = false, seenDescr = false, seenOrder = false, seenShape = false;
  if (!reader.consume('{'))
    throw malformed(path);
  while (!reader.consume('}')) {
    std::string_view key;
    if (!reader.readString(key) || !reader.consume(':'))
      throw malformed(path);
    bool read = false;
    if (key == "descr" && !seenDescr) {
      if (reader.consume('['))
        throw Error(path, "it holds records of several fields")
            .help("save each field as an array of its own: numpy.save(\"x.npy\", a[\"field\"])");
      read = seenDescr = reader.readString(descr);
    } else if (key == "fortran_order" && !seenOrder) {
      read = seenOrder = reader.readBool(fortranOrder);
    } else if (key == "shape" && !seenShape) {
      read = seenShape = reader.readShape(header.shape);
    }
    if (!read)
      throw malformed(path);
    if (!reader.consume(',')) {
      if (!reader.consume('}'))
        throw malformed(path);
      break;
    }
  }
  if (!reader.atEnd() || !seenDescr || !seenOrder || !seenShape || descr.empty())
    throw malformed(path);

  char order = descr.front();
  bool hasOrder = order == '<' || order == '>' || order == '|' || order == '=';
  const TypeName *type = findType(descr.substr(hasOrder));
  if (!type)
    throw Error(path, "its elements are of NumPy type '" + std::string(descr) +
                          "', which is not supported")
        .help("save it as float16, float32, float64, bool or integers: "
              "numpy.save(\"x.npy\", a.astype(numpy.float32))");
  if (order == '>' && type->bytes > 1)
    throw Error(path, "its elements are big endian")
        .help("numpy.save(\"x.npy\", a.astype(a.dtype.newbyteorder(\"<\")))");
  if (fortranOrder)
    throw Error(path, "it is stored in Fortran order, columns first")
        .help("numpy.save(\"x.npy\", numpy.ascontiguousarray(a))");
  header.type = type->type;
  return header;
}

} // namespace

size_t elementBytes(NpyType type) { return types[int(type)].bytes; }
const char *name(NpyType type) { return types[int(type)].name; }

NpyHeader parseNpyHeader(const std::string &path, std::string_view file) {
  if (file.substr(0, magic.size()) != magic)
    throw Error(path, "it is not a .npy file")
        .help("write it with numpy.save; of an .npz archive, save each array on its own");
  const Error truncated = Error(path, "it is truncated inside its header").help("write it again");
  if (file.size() < 8)
    throw truncated;
  int version = uint8_t(file[6]);
  if (version < 1 || version > 3)
    throw Error(path, "its .npy version is " + std::to_string(version) + ", not 1 to 3")
        .help("write the file again with numpy.save");
  size_t lengthBytes = version == 1 ? 2 : 4, start = 8 + lengthBytes;
  if (file.size() < start)
    throw truncated;
  size_t length = littleEndian(file.substr(8, lengthBytes));
  if (length > file.size() - start)
    throw truncated;
  NpyHeader header = parseDictionary(path, file.substr(start, length));
  header.dataOffset = start + length;

  int64_t bytes = 0;
  bool overflow = false;
  for (int64_t dimension : header.shape)
    overflow |= __builtin_mul_overflow(header.elements, dimension, &header.elements);
  overflow |= __builtin_mul_overflow(header.elements, int64_t(elementBytes(header.type)), &bytes);
  int64_t present = int64_t(file.size() - header.dataOffset);
  if (overflow || bytes > present)
    throw Error(path, "it is truncated: " + std::to_string(present) +
                          " bytes of elements are there, " +
                          (overflow ? "more than any file holds" : std::to_string(bytes)) +
                          " are announced")
        .help("write it again");
  return header;
}

std::string npyPreamble(hs_type type, const std::vector<int64_t> &shape) {
  const char *descr = "";
  switch (type) {
  case HS_F32:
    descr = "<f4";
    break;
  case HS_F64:
    descr = "<f8";
    break;
  case HS_F16:
    descr = "<f2";
    break;
  case HS_BOOL:
    descr = "|b1";
    break;
  case HS_I8:
    descr = "|i1";
    break;
  case HS_U8:
    descr = "|u1";
    break;
  case HS_I32:
    descr = "<i4";
    break;
  case HS_I64:
    descr = "<i8";
    break;
  case HS_BF16:
    break; // NumPy has no such type: its callers widen to f32
  }
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t dimension : shape)
    header += std::to_string(dimension) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1)
    header.resize(header.size() - 2);
  header += "), }";
  size_t length = (10 + header.size() + 1 + 63) / 64 * 64 - 10;
  header.resize(length - 1, ' ');
  header += '\n';
  return std::string(magic) + std::string("\x01\x00", 2) + char(length & 0xFF) + char(length >> 8) +
         header;
}

} // namespace halfstep::runtime

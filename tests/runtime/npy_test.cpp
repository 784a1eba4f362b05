//===- npy_test.cpp - NumPy's file format -----------------------------------------------------===//

#include "Models.h"
#include "runtime/Npy.h"

#include <random>

using namespace halfstep::runtime;

namespace {

/// A file of version `major` with the given header and `bytes` bytes of elements.
std::string npyFile(int major, const std::string &header, size_t bytes) {
  std::string file = "\x93NUMPY";
  file += char(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += char(header.size() >> (8 * i) & 0xFF);
  return file + header + std::string(bytes, '\0');
}

std::string dictionary(const std::string &descr, const std::string &shape,
                       const std::string &order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

NpyHeader parse(const std::string &file) { return parseNpyHeader("x.npy", file); }

using Shape = std::vector<int64_t>;

TEST(Npy, ReadsAllVersionsAndSpellings) {
  for (int major : {1, 2, 3}) {
    NpyHeader header = parse(npyFile(major, dictionary("'<f4'", "(2, 3)"), 24));
    EXPECT_EQ(header.type, NpyType::F32);
    EXPECT_EQ(header.shape, (Shape{2, 3}));
    EXPECT_EQ(header.elements, 6);
    EXPECT_EQ(header.dataOffset, npyFile(major, dictionary("'<f4'", "(2, 3)"), 0).size());
  }
  EXPECT_EQ(parse(npyFile(1, dictionary("'<i8'", "(3,)"), 24)).shape, Shape{3});
  EXPECT_EQ(parse(npyFile(1, dictionary("'<i8'", "(3L, 1L)"), 24)).shape, (Shape{3, 1}));
  EXPECT_EQ(parse(npyFile(1, dictionary("'<f8'", "()"), 8)).shape, Shape{});
  EXPECT_EQ(parse(npyFile(1, dictionary("'<f8'", "(0, 4)"), 0)).elements, 0);
  // Any order of the keys, either quote, no space, no last comma.
  EXPECT_EQ(parse(npyFile(1, R"({"shape":(7,),"fortran_order":False,"descr":"|u1"})", 7)).shape,
            Shape{7});
}

TEST(Npy, KnowsTheTypes) {
  std::pair<const char *, NpyType> types[] = {
      {"'<f2'", NpyType::F16},  {"'<f4'", NpyType::F32}, {"'<f8'", NpyType::F64},
      {"'|b1'", NpyType::Bool}, {"'|i1'", NpyType::I8},  {"'|u1'", NpyType::U8},
      {"'<i2'", NpyType::I16},  {"'<i4'", NpyType::I32}, {"'<i8'", NpyType::I64}};
  for (auto [descr, type] : types)
    EXPECT_EQ(parse(npyFile(1, dictionary(descr, "(1,)"), 8)).type, type) << descr;
}

TEST(Npy, RefusesWithAWayOut) {
  struct Case {
    std::string file, message;
  };
  const Case cases[] = {
      {"", "it is not a .npy file"},
      {"PK\x03\x04 an archive", "it is not a .npy file"},
      {npyFile(1, dictionary("'<f4'", "(1,)"), 4).substr(0, 20),
       "it is truncated inside its header"},
      {npyFile(4, dictionary("'<f4'", "(1,)"), 4), ".npy version is 4"},
      {npyFile(1, dictionary("'<f4'", "(2, 3)", "True"), 24), "Fortran order"},
      {npyFile(1, dictionary("'>f4'", "(1,)"), 4), "its elements are big endian"},
      {npyFile(1, dictionary("[('a', '<f4'), ('b', '<i8')]", "(1,)"), 12),
       "it holds records of several fields"},
      {npyFile(1, dictionary("'|O'", "(1,)"), 8),
       "its elements are of NumPy type '|O', which is not supported"},
      {npyFile(1, dictionary("'<c8'", "(1,)"), 8), "type '<c8'"},
      {npyFile(1, dictionary("'<U3'", "(1,)"), 12), "type '<U3'"},
      {npyFile(1, dictionary("''", "(1,)"), 8), "its .npy header is malformed"},
      {npyFile(1, dictionary("'<f4'", "(-1,)"), 4), "its .npy header is malformed"},
      {npyFile(1, dictionary("'<f4'", "(1.5,)"), 4), "its .npy header is malformed"},
      {npyFile(1, dictionary("'<f4'", "(99999999999999999999,)"), 4),
       "its .npy header is malformed"},
      {npyFile(1, dictionary("'<f4'", "(1,)", "Maybe"), 4), "its .npy header is malformed"},
      {npyFile(1, "{'descr': '<f4', 'shape': (1,)}", 4), "its .npy header is malformed"},
      {npyFile(1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4),
       "its .npy header is malformed"},
      {npyFile(1, dictionary("'<f4'", "(1,)") + "junk", 4), "its .npy header is malformed"},
      {npyFile(1, dictionary("'<f4'", "(2, 3)"), 23), "24 are announced"},
      {npyFile(1, dictionary("'<f4'", "(3037000500, 3037000500)"), 8), "more than any file holds"},
      {npyFile(1, dictionary("'<f8'", "(2305843009213693952,)"), 8), "more than any file holds"},
  };
  for (const Case &test : cases) {
    EXPECT_ERROR(parse(test.file), test.message);
    EXPECT_ERROR(parse(test.file), "\nhelp: ");
    EXPECT_ERROR(parse(test.file), "x.npy: ");
  }
}

TEST(Npy, EveryTruncationIsAnError) {
  std::string file = npyFile(1, dictionary("'<f4'", "(2, 3)"), 24);
  parse(file);
  for (size_t size = 0; size < file.size(); ++size) {
    // Of its own allocation, so that a sanitizer sees a read beyond the end.
    std::vector<char> bytes(file.begin(), file.begin() + size);
    EXPECT_THROW(parseNpyHeader("x.npy", {bytes.data(), bytes.size()}), Error) << size;
  }
}

// Whatever the bytes, the answer is an error or a header that the file satisfies.
TEST(Npy, SurvivesMutations) {
  const std::string original = npyFile(1, dictionary("'<f4'", "(2, 3)"), 24);
  const std::string alphabet = "'\"{}()[]:,<>|=fiub0123456789L \n\\\xFF" + std::string(1, '\0');
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 50000; ++round) {
    std::vector<char> bytes(original.begin(), original.end());
    for (unsigned i = 0, count = 1 + random() % 4; i < count; ++i)
      bytes[random() % (bytes.size() - 24)] =
          random() % 2 ? alphabet[random() % alphabet.size()] : char(random());
    try {
      NpyHeader header = parseNpyHeader("x.npy", {bytes.data(), bytes.size()});
      ASSERT_LE(header.dataOffset + header.elements * elementBytes(header.type), bytes.size());
      ++accepted;
    } catch (const Error &) {
    }
  }
  EXPECT_GT(accepted, 100); // a dimension or a space was hit
  EXPECT_LT(accepted, 40000);
}

// The bytes that numpy.save writes of a float32 array of shape (2, 3).
TEST(Npy, WritesWhatNumpyWrites) {
  std::string expected = npyFile(1,
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                                     std::string(58, ' ') + "\n",
                                 0);
  ASSERT_EQ(expected.size(), 128u);
  EXPECT_EQ(npyPreamble(HS_F32, {2, 3}), expected);
}

TEST(Npy, ReadsWhatItWrites) {
  std::pair<hs_type, NpyType> types[] = {{HS_F32, NpyType::F32}, {HS_F64, NpyType::F64},
                                         {HS_F16, NpyType::F16}, {HS_BOOL, NpyType::Bool},
                                         {HS_I8, NpyType::I8},   {HS_U8, NpyType::U8},
                                         {HS_I32, NpyType::I32}, {HS_I64, NpyType::I64}};
  for (auto [type, read] : types)
    for (const Shape &shape : {Shape{}, Shape{3}, Shape{3, 1}, Shape(40, 1), Shape{0, 123456789}}) {
      std::string preamble = npyPreamble(type, shape);
      EXPECT_EQ(preamble.size() % 64, 0u);
      NpyHeader header = parse(preamble + std::string(24, '\0'));
      EXPECT_EQ(header.type, read);
      EXPECT_EQ(header.shape, shape);
      EXPECT_EQ(header.dataOffset, preamble.size());
    }
}

} // namespace

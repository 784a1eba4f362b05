//===- safetensors_test.cpp - Files round trip, and damaged ones are refused ------------------===//

#include "Models.h"

#include "runtime/Types.h"

using namespace halfstep::runtime;

namespace {

// A file from the text of a header and a number of data bytes.
std::string fileFromHeader(const std::string &header, size_t dataBytes = 0) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + header + std::string(dataBytes, '\0');
}

std::string parseError(const std::string &file) {
  return errorOf([&] { Safetensors::parse("test", file); });
}

const std::string oneTensor = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(Safetensors, RoundTripsEveryTypeAndShape) {
  TemporaryFolder folder;
  std::vector<char> data(4096);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = char(i * 37);
  std::vector<NamedTensor> tensors;
  size_t offset = 0;
  for (int type = HS_F32; type <= HS_I64; ++type)
    for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {3}, {2, 3}, {2, 0}}) {
      size_t bytes = elementBytes(hs_type(type));
      for (int64_t extent : shape)
        bytes *= size_t(extent);
      std::string name = describe(hs_type(type), shape) + " \"quoted\" \u00e9";
      tensors.push_back({name, hs_type(type), shape, data.data() + offset, bytes});
      offset += bytes;
    }
  writeSafetensors(folder / "file", tensors, {{"key", "a \"value\"\n"}});

  Safetensors read = Safetensors::open(folder / "file");
  EXPECT_EQ(read.tensors().size(), tensors.size());
  EXPECT_EQ(read.metadata(), (Metadata{{"key", "a \"value\"\n"}}));
  for (const NamedTensor &tensor : tensors) {
    const NamedTensor *found = read.find(tensor.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    ASSERT_EQ(found->bytes, tensor.bytes);
    EXPECT_EQ(memcmp(found->data, tensor.data, tensor.bytes), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found->data) % elementBytes(tensor.type), 0u);
  }
  EXPECT_EQ(read.find("none"), nullptr);
}

TEST(Safetensors, EqualContentsGiveEqualFiles) {
  TemporaryFolder folder;
  double one = 1;
  float two = 2;
  NamedTensor a{"a", HS_F32, {}, &two, 4}, b{"b", HS_F64, {}, &one, 8};
  writeSafetensors(folder / "1", {a, b}, {{"x", "1"}, {"y", "2"}});
  writeSafetensors(folder / "2", {b, a}, {{"y", "2"}, {"x", "1"}});
  EXPECT_EQ(readFile(folder / "1"), readFile(folder / "2"));
}

TEST(Safetensors, NoPrefixOfAFileIsAFile) {
  std::vector<float> data(24, 1.5f);
  std::string file =
      fileOf({{"a", HS_F32, {4, 3}, data.data(), 48}, {"b", HS_F32, {}, &data[12], 4}});
  EXPECT_EQ(parseError(file), "");
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_NE(parseError(file.substr(0, length)), "") << length;
  EXPECT_NE(parseError(file + "x"), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is too short for a safetensors header",
                      parseError(file.substr(0, 7)));
}

// Whatever one byte of the header becomes, the result is an error or a file whose tensors all lie
// inside it.
TEST(Safetensors, NoByteOfTheHeaderLeadsOutside) {
  std::vector<float> data(24, 1.5f);
  const std::string file = fileOf(
      {{"a", HS_F32, {4, 3}, data.data(), 48}, {"b", HS_F32, {1}, &data[12], 4}}, {{"k", "v"}});
  size_t headerEnd = file.size() - 52;
  for (size_t i = 0; i < headerEnd; ++i)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = file;
      changed[i] = char(byte);
      errorOf([&] {
        Safetensors parsed = Safetensors::parse("test", changed);
        for (const NamedTensor &tensor : parsed.tensors()) {
          auto *begin = static_cast<const char *>(tensor.data);
          EXPECT_GE(begin, changed.data());
          EXPECT_LE(begin + tensor.bytes, changed.data() + changed.size());
        }
      });
    }
}

TEST(Safetensors, SaysWhatIsWrong) {
  auto expect = [](const std::string &header, size_t dataBytes, const std::string &message) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, message,
                        parseError(fileFromHeader(header, dataBytes)))
        << header;
  };
  EXPECT_EQ(parseError(fileFromHeader(oneTensor, 8)), "");
  EXPECT_EQ(parseError(fileFromHeader("{}")), "");

  expect("", 0, "its header is not a JSON object");
  expect("[]", 0, "its header is not a JSON object");
  expect("{\"a\":", 0, "its header is not a JSON object");
  expect("{\"\xff\":1}", 0, "its header is not a JSON object");
  expect(R"({"__metadata__":[]})", 0, "metadata is not a JSON object");
  expect(R"({"__metadata__":{"k":1}})", 0, "metadata \"k\" is not a string");
  expect(R"({"a":1})", 0, "tensor \"a\": has no valid dtype");
  expect(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8, "has no valid dtype");
  expect(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8, "has no valid dtype");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "has no valid dtype");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,1e30]}})", 8, "has no valid dtype");
  expect(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8,
         "tensor \"a\" has the unknown type \"F31\"");
  expect(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
         "has 8 bytes, F32[3] takes 12");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8,
         "lies outside the file: it ends at byte ");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 8,
         "lies outside the file: it ends at byte ");
  // 2^62 elements of 4 bytes wrap around to no bytes at all.
  expect(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
         "has a shape too large to be true");
  expect(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
         "has a shape too large to be true");
  expect(R"({"a":{"dtype":"F32","shape":[18446744073709551615,0],"data_offsets":[0,0]}})", 0,
         "has a shape too large to be true");
  expect(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},
             "b":{"dtype":"I8","shape":[4],"data_offsets":[2,6]}})",
         6, "\"b\": overlaps another tensor");
  expect(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},
             "b":{"dtype":"I8","shape":[2],"data_offsets":[6,8]}})",
         8, "\"b\": has unused bytes");
  expect(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},
             "a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
         1, "\"a\": appears twice");
  expect(oneTensor, 9, "1 bytes behind its last tensor");

  std::string huge = fileFromHeader(oneTensor, 8);
  for (uint64_t length : {uint64_t(huge.size()), uint64_t(1) << 40, UINT64_MAX}) {
    memcpy(huge.data(), &length, 8);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "announces a header of ", parseError(huge));
  }
}

TEST(Safetensors, RefusesToWriteTwoTensorsOfOneName) {
  float value = 0;
  NamedTensor tensor{"a", HS_F32, {}, &value, 4};
  EXPECT_ERROR(safetensorsHeader("out", {tensor, tensor}, {}), "two tensors named 'a'");
  NamedTensor bytes{"\xff", HS_F32, {}, &value, 4};
  EXPECT_ERROR(safetensorsHeader("out", {bytes}, {}), "not valid UTF-8");
}

} // namespace

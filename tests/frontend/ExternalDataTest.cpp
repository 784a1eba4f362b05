//===- ExternalDataTest.cpp - Weights beside the model, and attacks -------===//

#include "ModelBuilder.h"

#include <sys/stat.h>

using namespace halfstep;
using namespace halfstep::test;

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

/// x + w, with w of two floats stored as `entries` say.
std::string external(const TemporaryFolder &folder, const Entries &entries,
                     const std::string &externalData = "") {
  Model model;
  model.input("x", {2})
      .initializer(externalTensor("w", f32, entries))
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  ImportOptions options;
  options.externalData = externalData;
  Imported imported(folder.write("model/m.onnx", model.proto.SerializeAsString()), options);
  if (!imported.model)
    return imported.diagnostics;
  llvm::ArrayRef<char> bytes = imported.model->weights.at(0).bytes;
  return "bytes " + std::string(bytes.begin(), bytes.end());
}

TEST(ExternalData, IsBesideTheModel) {
  TemporaryFolder folder;
  folder.write("model/w.bin", "01234567");
  folder.write("model/sub/w.bin", "xxxabcdefghyyy");
  EXPECT_EQ(external(folder, {{"location", "w.bin"}}), "bytes 01234567");
  EXPECT_EQ(external(folder, {{"location", "sub/w.bin"}, {"offset", "3"}, {"length", "8"}}),
            "bytes abcdefgh");
  EXPECT_EQ(external(folder, {{"location", "./w.bin"}, {"checksum", "ignored"}}), "bytes 01234567");
}

TEST(ExternalData, OrInTheFolderThatIsNamed) {
  TemporaryFolder folder;
  folder.write("elsewhere/w.bin", "ABCDEFGH");
  EXPECT_EQ(external(folder, {{"location", "w.bin"}}, (folder.path / "elsewhere").string()),
            "bytes ABCDEFGH");
  EXPECT_TRUE(contains(external(folder, {{"location", "w.bin"}}),
                       {"w: external data 'w.bin' cannot be opened", "looked for in",
                        "help: --external-data DIR names the folder"}));
}

TEST(ExternalData, StaysInTheFolder) {
  TemporaryFolder folder;
  std::string secret = folder.write("secret", "01234567");
  folder.write("model/w.bin", "01234567");
  folder.write("model2/w.bin", "01234567"); // a folder whose name begins as the model's
  for (const std::string &location :
       {std::string("../secret"), secret, std::string("sub/../../secret"), std::string(""),
        std::string("w.bin\0", 6), std::string("../model2/w.bin"), std::string("..")})
    EXPECT_TRUE(contains(external(folder, {{"location", location}}),
                         {"w: external data '", "is not a path inside the model's folder"}))
        << location;

  std::filesystem::create_symlink(secret, folder.path / "model/link");
  std::filesystem::create_symlink(folder.path, folder.path / "model/up");
  std::filesystem::create_symlink("w.bin", folder.path / "model/alias");
  for (const char *location : {"link", "up/secret", "up/model2/w.bin"})
    EXPECT_TRUE(contains(external(folder, {{"location", location}}),
                         {"w: external data '", "is a link that leads out of the folder"}));
  EXPECT_EQ(external(folder, {{"location", "alias"}}), "bytes 01234567"); // leads nowhere else
}

TEST(ExternalData, IsARegularFile) {
  TemporaryFolder folder;
  folder.write("model/sub/w.bin", "");
  mkfifo((folder.path / "model/pipe").c_str(), 0600); // opening it would wait for a writer
  for (const char *location : {"sub", "pipe"})
    EXPECT_TRUE(contains(external(folder, {{"location", location}}),
                         {"w: external data '", "is not a regular file"}));
}

TEST(ExternalData, OffsetAndLengthAreChecked) {
  TemporaryFolder folder;
  folder.write("model/w.bin", "0123456789");
  const std::pair<Entries, const char *> cases[] = {
      {{{"offset", "3"}}, "external data 'w.bin' is too short"},
      {{{"offset", "18446744073709551615"}}, "external data 'w.bin' is too short"},
      {{{"offset", "18446744073709551616"}}, "offset '18446744073709551616' is not a number"},
      {{{"offset", "-1"}}, "offset '-1' is not a number"},
      {{{"offset", "two"}}, "offset 'two' is not a number"},
      {{{"length", "7"}}, "has 7 bytes where the tensor's type and shape need 8"},
      {{{"length", "9"}}, "has 9 bytes where the tensor's type and shape need 8"},
      {{{"length", ""}}, "length '' is not a number"},
  };
  for (const auto &[entries, message] : cases) {
    Entries all = entries;
    all.emplace_back("location", "w.bin");
    EXPECT_TRUE(contains(external(folder, all), {"w: ", message}));
  }
  EXPECT_TRUE(
      contains(external(folder, {{"offset", "0"}}), {"w: external data without a location"}));
}

TEST(ExternalData, ShapesAreFoundOutsideToo) {
  TemporaryFolder folder;
  int64_t shape[2] = {3, 2};
  folder.write("shape.bin", std::string(reinterpret_cast<char *>(shape), sizeof shape));
  Model model;
  model.input("x", {6})
      .initializer(externalTensor("shape", i64, {{"location", "shape.bin"}}))
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  Imported imported(folder.write("m.onnx", model.proto.SerializeAsString()));
  EXPECT_TRUE(contains(imported.text(), {"-> tensor<3x2xf32>"}));
}

} // namespace

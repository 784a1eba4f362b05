//===- ExportTest.cpp - Trained weights back into an ONNX file ------------===//

#include "frontend/Export.h"
#include "ModelBuilder.h"
#include "runtime/Error.h"

using namespace halfstep;
using namespace halfstep::test;

namespace {

std::string data(const std::string &name) { return TEST_DIR "/models/data/" + name; }

std::string read(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Exports `weights`; gives the diagnostics.
std::string exported(Imported &model, const std::string &from, llvm::ArrayRef<Weight> weights,
                     const std::filesystem::path &to) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(&model.context, [&](mlir::Diagnostic &diag) {
    llvm::raw_string_ostream os(text);
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(diag.getLocation()))
      os << name.getName().getValue() << ": ";
    os << diag.str();
    return mlir::success();
  });
  bool ok = succeeded(exportModel(model.context, from, weights, to.string()));
  EXPECT_EQ(ok, text.empty());
  return text;
}

/// The weights with every number replaced by another one.
std::vector<Weight> changed(const std::vector<Weight> &weights) {
  std::vector<Weight> result = weights;
  for (Weight &weight : result) {
    auto bytes = std::make_shared<std::string>(weight.bytes.begin(), weight.bytes.end());
    for (char &byte : *bytes)
      byte = char(byte ^ 0x11);
    weight.bytes = llvm::ArrayRef<char>(bytes->data(), bytes->size());
    weight.storage = bytes;
  }
  return result;
}

TEST(Export, OnlyWeightBytesChange) {
  TemporaryFolder folder;
  for (const char *name : {"mlp10.onnx", "linear8.onnx", "mlp10.default_export.onnx",
                           "digits_mlp.default_export.onnx"}) {
    Imported original(data(name), batchOf(2));
    ASSERT_TRUE(original.model) << original.diagnostics;
    std::vector<Weight> trained = changed(original.model->weights);
    std::filesystem::path out = folder.path / "out" / name;
    std::filesystem::create_directories(out.parent_path());
    EXPECT_EQ(exported(original, data(name), trained, out), "");

    Imported again(out.string(), batchOf(2));
    ASSERT_TRUE(again.model) << again.diagnostics;
    ASSERT_EQ(again.model->weights.size(), trained.size());
    for (size_t i = 0; i < trained.size(); ++i) {
      EXPECT_EQ(again.model->weights[i].name, trained[i].name);
      EXPECT_EQ(again.model->weights[i].bytes, trained[i].bytes);
    }

    // Exporting the original's own numbers gives the original's message back.
    EXPECT_EQ(exported(original, data(name), original.model->weights, out), "");
    onnx::ModelProto before, after;
    ASSERT_TRUE(before.ParseFromString(read(data(name))) && after.ParseFromString(read(out)));
    for (onnx::ModelProto *model : {&before, &after})
      for (onnx::TensorProto &tensor : *model->mutable_graph()->mutable_initializer())
        tensor.clear_external_data(); // another file
    EXPECT_EQ(before.SerializeAsString(), after.SerializeAsString());
  }
}

TEST(Export, KeepsTheFormOfEveryTensor) {
  Model model;
  onnx::TensorProto half;
  half.set_name("h");
  half.set_data_type(f16);
  half.add_dims(1);
  half.add_int32_data(0x3c00);
  model.input("x", {1}).weight("typed", {1}).initializer(half);
  model.node("Constant", {}, {"list"}, {{"value_floats", Floats{5}}});
  model.node("Cast", {"h"}, {"h32"}, {{"to", f32}});
  model.node("Sum", {"x", "typed", "list", "h32"}, {"y"}).output("y");
  TemporaryFolder folder;
  std::string path = folder.write("m.onnx", model.proto.SerializeAsString());
  Imported imported(path);
  ASSERT_TRUE(imported.model) << imported.diagnostics;
  ASSERT_EQ(imported.model->weights.size(), 3u);

  EXPECT_EQ(exported(imported, path, changed(imported.model->weights), folder.path / "o.onnx"), "");
  onnx::ModelProto after;
  ASSERT_TRUE(after.ParseFromString(read(folder.path / "o.onnx")));
  EXPECT_EQ(after.graph().initializer(0).float_data_size(), 1);
  EXPECT_FALSE(after.graph().initializer(0).has_raw_data());
  EXPECT_EQ(after.graph().initializer(1).int32_data(0), 0x3c00 ^ 0x1111);
  float five = 5;
  int32_t bits;
  std::memcpy(&bits, &five, 4);
  bits ^= 0x11111111;
  std::memcpy(&five, &bits, 4);
  EXPECT_EQ(after.graph().node(0).attribute(0).floats(0), five);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "o.onnx.data"));
}

TEST(Export, WeightsMustBeTheModels) {
  TemporaryFolder folder;
  Imported imported(data("mlp10.onnx"), batchOf(1));
  ASSERT_TRUE(imported.model);
  std::filesystem::path out = folder.path / "o.onnx";

  std::vector<Weight> missing(imported.model->weights.begin() + 1, imported.model->weights.end());
  EXPECT_EQ(exported(imported, data("mlp10.onnx"), missing, out),
            "0.weight: the checkpoint has no tensor of this name; is it of another model?");

  std::vector<Weight> extra = imported.model->weights;
  extra.push_back(extra.front());
  extra.back().name = "stranger";
  EXPECT_EQ(exported(imported, data("mlp10.onnx"), extra, out),
            "stranger: the model has no weight of this name; is the checkpoint of another "
            "model?");

  std::vector<Weight> shape = imported.model->weights;
  shape[0].type = mlir::RankedTensorType::get({100}, shape[0].type.getElementType());
  EXPECT_EQ(
      exported(imported, data("mlp10.onnx"), shape, out),
      "0.weight: is 'tensor<100xf32>' in the checkpoint and 'tensor<10x10xf32>' in the model");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Export, NeverOntoItsInput) {
  TemporaryFolder folder;
  std::string bytes = read(data("mlp10.onnx")), path = folder.write("m.onnx", bytes);
  std::filesystem::create_symlink("m.onnx", folder.path / "link.onnx");
  std::filesystem::create_hard_link(path, folder.path / "hard.onnx");
  Imported imported(path, batchOf(1));
  ASSERT_TRUE(imported.model);
  for (const char *name : {"m.onnx", "./m.onnx", "link.onnx", "hard.onnx"})
    EXPECT_TRUE(contains(exported(imported, path, imported.model->weights, folder.path / name),
                         {"is the model that is read"}));
  EXPECT_EQ(read(path), bytes);
}

TEST(Export, NorOntoTheDataOfItsInput) {
  // m.onnx keeps its weights where an export to o.onnx would write.
  for (std::string data : {"o.onnx.data", "o.onnx.part", "o.onnx.data.part"}) {
    TemporaryFolder folder;
    Model model;
    model.input("x", {2}).initializer(externalTensor("w", f32, {{"location", data}}));
    model.node("Add", {"x", "w"}, {"y"}).output("y");
    folder.write(data, "01234567");
    std::string path = folder.write("m.onnx", model.proto.SerializeAsString());
    Imported imported(path);
    ASSERT_TRUE(imported.model) << imported.diagnostics;
    EXPECT_TRUE(
        contains(exported(imported, path, changed(imported.model->weights), folder.path / "o.onnx"),
                 {data + "' holds weights of the model that is read"}));
    EXPECT_EQ(read(folder.path / data), "01234567");
  }
}

TEST(Export, UnwritablePlacesAreAnError) {
  TemporaryFolder folder;
  Imported imported(data("mlp10.onnx"), batchOf(1));
  try {
    exported(imported, data("mlp10.onnx"), imported.model->weights,
             folder.path / "no" / "such" / "o.onnx");
    FAIL() << "written to a folder that does not exist";
  } catch (const runtime::Error &error) {
    EXPECT_TRUE(contains(error.what(), {"o.onnx: cannot write: "}));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

} // namespace

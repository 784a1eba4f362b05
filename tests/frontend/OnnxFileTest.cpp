//===- OnnxFileTest.cpp - Files that are not what they seem ---------------===//

#include "ModelBuilder.h"

#include <random>
#include <sys/resource.h>

using namespace halfstep;
using namespace halfstep::test;

namespace {

std::string importBytes(const std::string &bytes) {
  static TemporaryFolder folder; // making one costs more than an import
  return Imported(folder.write("model.onnx", bytes), batchOf(2)).text();
}

std::string bytesOf(const std::string &name) {
  std::ifstream file(TEST_DIR "/models/data/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OnnxFile, WhatIsNoModel) {
  TemporaryFolder folder;
  EXPECT_TRUE(
      contains(Imported((folder.path / "none.onnx").string()).text(), {"FILE: no such file"}));
  EXPECT_TRUE(contains(Imported(folder.path.string()).text(), {"FILE: is not a regular file"}));
  EXPECT_TRUE(contains(importBytes(""), {"FILE: is empty, not an ONNX model"}));
  EXPECT_TRUE(
      contains(importBytes("The quick brown fox.\n"), {"FILE: is a text file, not an ONNX model"}));
  EXPECT_TRUE(contains(importBytes(std::string(100, '\0')), {"FILE: is not an ONNX model"}));
  EXPECT_TRUE(contains(importBytes("\x08\x08"), {"FILE: is not an ONNX model: it has no graph"}));
}

TEST(OnnxFile, WithoutOperatorSet) {
  Model model;
  model.proto.clear_opset_import();
  model.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(model), {"FILE: is not an ONNX model: it names no operator set"}));
}

TEST(OnnxFile, RandomBytesAreAnError) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(1 + random() % 300, '\0');
    for (char &byte : bytes)
      byte = char(random());
    EXPECT_TRUE(contains(importBytes(bytes), {"FILE: "}));
  }
}

/// Cut anywhere, a model is an error with one message: either it cannot be parsed, or something
/// that the graph needs is missing.
TEST(OnnxFile, TruncationIsAnError) {
  std::string whole = bytesOf("mlp10.onnx");
  ASSERT_GT(whole.size(), 500u);
  for (size_t length = 1; length < whole.size(); ++length) {
    std::string text = importBytes(whole.substr(0, length));
    EXPECT_FALSE(text.empty()) << length;
    EXPECT_FALSE(contains(text, {"func.func"})) << length;
  }
}

/// A flipped bit may change a weight or a name and leave a model. It never crashes, and never fails
/// silently.
TEST(OnnxFile, FlippedBitsNeverCrash) {
  for (const char *name : {"mlp10.onnx", "mlp10.default_export.onnx"}) {
    const std::string whole = bytesOf(name);
    for (size_t at = 0; at < whole.size(); ++at)
      for (size_t bit : {at % 8, (at + 3) % 8}) {
        std::string bytes = whole;
        bytes[at] = char(bytes[at] ^ (1 << bit));
        EXPECT_FALSE(importBytes(bytes).empty()) << name << " byte " << at;
      }
  }
}

TEST(OnnxFile, NamesAreText) {
  auto named = [](const std::string &name) {
    Model model;
    model.input("x", {2}).weight(name, {2}).node("Add", {"x", name}, {"y"}).output("y");
    return import(model);
  };
  EXPECT_TRUE(contains(named("w\xff"), {"FILE: the name of a weight is not UTF-8 text"}));
  EXPECT_TRUE(
      contains(named(std::string("w\0w", 3)), {"FILE: the name of a weight is not UTF-8 text"}));
  EXPECT_TRUE(contains(named("a b/\"c\"\n\xe2\x82\xac"), {"train.parameter"}));
}

TEST(OnnxFile, FilesThatCannotBeRead) {
  TemporaryFolder folder;
  std::string small = folder.write("small.onnx", "x");
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  rlimit none{0, files.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  std::string text = Imported(small).text();
  setrlimit(RLIMIT_NOFILE, &files);
  EXPECT_TRUE(contains(text, {"FILE: cannot be read: Too many open files"}));
  std::string path = folder.write("m.onnx", "x");
  std::filesystem::resize_file(path, uint64_t(1) << 31);
  EXPECT_TRUE(
      contains(Imported(path).text(), {"FILE: is larger than 2 GiB, the limit of the format",
                                       "help: save the model with external data"}));
}

TEST(OnnxFile, ShortFunctionsThatAskForAnyAmountOfMemory) {
  Model model(17);
  model.proto.add_opset_import()->set_domain("local");
  model.proto.mutable_opset_import(1)->set_version(1);
  for (int i = 0; i < 20; ++i) { // each calls the next ten times
    onnx::FunctionProto *function = model.proto.add_functions();
    function->set_domain("local");
    function->set_name("f" + std::to_string(i));
    function->add_input("a0");
    function->add_output("a10");
    function->add_opset_import()->set_version(17);
    onnx::OperatorSetIdProto *opset = function->add_opset_import();
    opset->set_domain("local");
    opset->set_version(1);
    for (int k = 0; k < 10; ++k) {
      onnx::NodeProto *node = function->add_node();
      node->set_op_type(i == 19 ? "Relu" : "f" + std::to_string(i + 1));
      node->set_domain(i == 19 ? "" : "local");
      node->add_input("a" + std::to_string(k));
      node->add_output("a" + std::to_string(k + 1));
    }
  }
  model.input("x", {2}).node("f0", {"x"}, {"y"}).output("y");
  model.lastNode().set_domain("local");
  EXPECT_TRUE(contains(import(model), {"FILE: its functions cannot be inlined: there would be over "
                                       "10000000 nodes"}));
}

TEST(OnnxFile, WhatTheCheckerRefuses) {
  Model unsorted;
  unsorted.input("x", {2})
      .node("Relu", {"later"}, {"y"})
      .node("Relu", {"x"}, {"later"})
      .output("y");
  EXPECT_TRUE(contains(import(unsorted),
                       {"y_node: Relu: reads 'later', which nothing before it computes"}));

  Model twice;
  twice.input("x", {2}).node("Relu", {"x"}, {"y"}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(contains(import(twice), {"FILE: not a valid ONNX model: "}));

  Model attribute;
  attribute.input("x", {2}).node("Relu", {"x"}, {"y"}, {{"nonsense", 1}}).output("y");
  EXPECT_TRUE(contains(import(attribute), {"y_node: Relu: Unrecognized attribute: nonsense"}));

  Model nothing;
  nothing.input("x", {2}).output("y");
  EXPECT_TRUE(contains(import(nothing), {"y"}));

  Model weights;
  weights.input("x", {2})
      .weight("w", {2})
      .weight("w", {2})
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  EXPECT_TRUE(contains(import(weights), {"FILE: two weights have the name 'w'"}));

  Model outputs;
  outputs.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y").output("y");
  EXPECT_TRUE(contains(import(outputs), {"FILE: two graph outputs have the name 'y'"}));

  Model reserved;
  reserved.input("x", {2})
      .weight("halfstep/lr", {2})
      .node("Add", {"x", "halfstep/lr"}, {"y"})
      .output("y");
  EXPECT_TRUE(contains(import(reserved), {"FILE: the name of weight 'halfstep/lr' begins with"}));

  Model empty; // required operands are missing
  empty.input("x", {2}).node("Gather", {"x"}, {"g"}).node("Shape", {""}, {"s"});
  empty.node("ReduceProd", {}, {"p"})
      .node("Concat", {"g", "s", "p"}, {"y"}, {{"axis", 0}})
      .output("y");
  EXPECT_TRUE(contains(import(empty),
                       {"FILE: 3 nodes cannot be imported", "g_node: ", "s_node: ", "p_node: "}));
}

} // namespace

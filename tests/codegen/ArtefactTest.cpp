//===- ArtefactTest.cpp - Linked artefacts and executables ----------------------------------===//

#include "TableTest.h"

#include "llvm/Support/FileSystem.h"

#include <filesystem>
#include <fstream>

using ArtefactTest = TableTest;

TEST_F(ArtefactTest, ExportsOneSymbol) {
  OwningOpRef<ModuleOp> module = parse(planned);
  FailureOr<std::string> ir = compileToLlvmIr(*module, target);
  ASSERT_TRUE(succeeded(ir));
  int definitions = 0, exported = 0;
  std::istringstream lines(*ir);
  for (std::string line; std::getline(lines, line);)
    if (StringRef(line).starts_with("define ")) {
      ++definitions;
      exported += !StringRef(line).contains(" internal ");
    }
  EXPECT_EQ(definitions, 3); // product, double, halfstep_query: equal kernels are one, unused none
  EXPECT_EQ(exported, 1);
}

TEST_F(ArtefactTest, SameModuleSameBytes) {
  OwningOpRef<ModuleOp> module = parse(planned);
  auto first = compileModule(*module, target), second = compileModule(*module, target);
  ASSERT_TRUE(succeeded(first) && succeeded(second));
  EXPECT_EQ(first->sharedObject, second->sharedObject);
}

TEST_F(ArtefactTest, ExecutableCarriesItsPayload) {
  OwningOpRef<ModuleOp> module = parse(planned);
  auto compiled = compileModule(*module, target);
  ASSERT_TRUE(succeeded(compiled));
  std::filesystem::path folder = testing::TempDir() + "/codegen-executable";
  std::filesystem::create_directories(folder);
  std::string runner = folder / "runner", path = folder / "model";
  std::ofstream(runner) << "#!/bin/sh\nexit 7\n";
  std::string header = R"({"w":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}})";
  std::string weights(8, '\0');
  weights[0] = char(header.size());
  weights += header + std::string(48, '\0');
  llvm::Error error = writeExecutable(path, {compiled->sharedObject, "", weights}, runner);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));

  EXPECT_TRUE(llvm::sys::fs::can_execute(path));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2); // nothing else
  runtime::Payload payload = runtime::Payload::open(path);
  EXPECT_STREQ(payload.artefact->tables().graph_hash, "00ff");
  EXPECT_TRUE(payload.weights.has_value());
  std::filesystem::remove_all(folder);

  error = writeExecutable(path, {compiled->sharedObject, "", weights}, runner);
  EXPECT_NE(llvm::toString(std::move(error)).find("cannot read"), std::string::npos);
}

TEST(LinkTest, ReportsTheLinkersMessage) {
  auto linked = linkShared("this is no object file");
  ASSERT_FALSE(bool(linked));
  EXPECT_NE(llvm::toString(linked.takeError()).find("linking the kernels failed: "),
            std::string::npos);
  NoTemporaryFiles none;
  auto unwritten = linkShared("this is no object file");
  EXPECT_EQ(llvm::toString(unwritten.takeError()),
            "cannot make a temporary file: No such file or directory");
}

TEST(CpuTargetTest, Names) {
  auto level3 = llvm::cantFail(CpuTarget::get("x86-64-v3"));
  EXPECT_EQ(level3.vectorBits, 256u);
  auto level4 = llvm::cantFail(CpuTarget::get("x86-64-v4"));
  EXPECT_EQ(level4.vectorBits, 512u);
  EXPECT_TRUE(llvm::is_contained(level4.features, "avx512f"));
  auto other = CpuTarget::get("x86-64-v2");
  ASSERT_FALSE(bool(other));
  EXPECT_EQ(llvm::toString(other.takeError()),
            "unknown CPU 'x86-64-v2': native, x86-64-v3 or x86-64-v4");
}

TEST(CudaTargetTest, Names) {
  EXPECT_EQ(llvm::cantFail(CudaTarget::get("sm_90")).architecture, "sm_90");
  auto other = CudaTarget::get("sm_75");
  ASSERT_FALSE(bool(other));
  EXPECT_EQ(llvm::toString(other.takeError()),
            "there is no architecture 'sm_75'; there are: sm_80, sm_86, sm_89, sm_90");
}

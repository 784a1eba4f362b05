//===- payload_test.cpp - Training executables are loaded or refused --------------------------===//

#include "Models.h"

#include "runtime/CpuFeatures.h"

#include <cstring>

using namespace halfstep::runtime;

namespace {

// A training executable as code generation writes it: a runner, the artefact, weights, the trailer.
struct Executable {
  std::string runner = "\177ELF and so on";
  std::string artefact = readFile(modelPath("LinearModel"));
  std::string weights = weightsFile(startWeight);
  PayloadTrailer trailer{};

  std::string bytes() {
    std::string file = runner;
    auto append = [&](const std::string &part, uint64_t &offset, uint64_t &size) {
      file.resize((file.size() + payloadAlignment - 1) / payloadAlignment * payloadAlignment);
      offset = file.size();
      size = part.size();
      file += part;
    };
    memcpy(trailer.magic, payloadMagic, sizeof trailer.magic);
    trailer.version = payloadVersion;
    append(artefact, trailer.artefactOffset, trailer.artefactBytes);
    append(weights, trailer.weightsOffset, trailer.weightsBytes);
    return withTrailer(file);
  }

  std::string withTrailer(const std::string &file) const {
    return file + std::string(reinterpret_cast<const char *>(&trailer), sizeof trailer);
  }
};

class PayloadTest : public testing::Test {
protected:
  std::string errorFor(const std::string &bytes) {
    writeFile(path, bytes);
    return errorOf([&] { Payload::open(path); });
  }

  TemporaryFolder folder;
  std::string path = folder / "model";
};

TEST_F(PayloadTest, OpensAnExecutable) {
  writeFile(path, Executable().bytes());
  Payload payload = Payload::open(path);
  EXPECT_EQ(payload.artefact->tables().input_count, 2u);
  EXPECT_EQ(payload.artefact->name(), path);
  ASSERT_TRUE(payload.weights);
  EXPECT_EQ(memcmp(payload.weights->find("fc.weight")->data, startWeight.data(), 20), 0);

  Payload moved = std::move(payload);
  EXPECT_EQ(memcmp(moved.weights->find("fc.weight")->data, startWeight.data(), 20), 0);
}

TEST_F(PayloadTest, OpensASharedObject) {
  Payload payload = Payload::open(modelPath("LinearModel"));
  EXPECT_EQ(payload.artefact->tables().tensor_count, 12u);
  EXPECT_FALSE(payload.weights);
}

// The loader goes by the path of a library, and paths of descriptors are soon used again.
TEST_F(PayloadTest, KeepsArtefactsApart) {
  auto first = loadModel("LinearModel"), second = loadModel("OtherShape");
  EXPECT_EQ(first->tables().inputs[0].shape[1], 5);
  EXPECT_EQ(second->tables().inputs[0].shape[1], 6);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(loadModel("OtherShape")->tables().inputs[0].shape[1], 6);
    EXPECT_EQ(loadModel("LinearModel")->tables().inputs[0].shape[1], 5);
  }
}

TEST_F(PayloadTest, RefusesWhatIsNoExecutable) {
  EXPECT_ERROR(Payload::open(folder / "missing"), "missing: cannot open: No such file");
  EXPECT_ERROR(Payload::open(folder.path), "is not a regular file");
  EXPECT_ERROR(Payload::open("/dev/zero"), "is not a regular file");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "has no compiled code", errorFor(""));
  EXPECT_ERROR(Payload::open(modelPath("NoQuery")), "NoQuery.so: is not a training executable");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "no x86-64 shared object",
                      errorFor(std::string(5000, 'x')));
  // This test itself: a program, but none of ours.
  EXPECT_ERROR(Payload::open("/proc/self/exe"), "its compiled code cannot be loaded");
}

TEST_F(PayloadTest, RefusesEveryTruncation) {
  std::string whole = Executable().bytes();
  for (size_t length = 0; length < whole.size(); length += 509)
    EXPECT_NE(errorFor(whole.substr(0, length)), "") << length;
  for (size_t missing = 1; missing <= 64; ++missing)
    EXPECT_NE(errorFor(whole.substr(0, whole.size() - missing)), "") << missing;
}

TEST_F(PayloadTest, RefusesWrongTrailers) {
  Executable executable;
  std::string body = executable.bytes();
  body.resize(body.size() - sizeof(PayloadTrailer));
  const PayloadTrailer good = executable.trailer;
  ASSERT_EQ(errorFor(executable.withTrailer(body)), "");

  uint64_t PayloadTrailer::*numbers[] = {
      &PayloadTrailer::artefactOffset, &PayloadTrailer::artefactBytes,
      &PayloadTrailer::weightsOffset, &PayloadTrailer::weightsBytes};
  for (auto number : numbers)
    for (uint64_t value : {uint64_t(1), uint64_t(4096) << 40, UINT64_MAX, UINT64_MAX - 4095}) {
      executable.trailer = good;
      executable.trailer.*number = value;
      EXPECT_NE(errorFor(executable.withTrailer(body)), "") << value;
    }
  executable.trailer = good;
  executable.trailer.version = 2;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "was made by another version of halfstep",
                      errorFor(executable.withTrailer(body)));
  executable.trailer = good;
  executable.trailer.weightsOffset = UINT64_MAX - 4095;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "its payload lies outside the file",
                      errorFor(executable.withTrailer(body)));
}

TEST_F(PayloadTest, RefusesDamagedCode) {
  Executable executable;
  executable.artefact.resize(executable.artefact.size() / 2);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "its compiled code is cut short",
                      errorFor(executable.bytes()));
  executable.artefact = "";
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "no compiled code", errorFor(executable.bytes()));
}

TEST_F(PayloadTest, RefusesDamagedWeights) {
  Executable executable;
  executable.weights.pop_back();
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "model: tensor \"fc.weight\": lies outside",
                      errorFor(executable.bytes()));
}

TEST_F(PayloadTest, SaysWhatTheCpuLacks) {
  EXPECT_ERROR(loadModel("OtherCpu"), "compiled for another CPU; this one lacks quantum,amx-9");
  EXPECT_ERROR(loadModel("OtherCpu"), "help: compile it here");
  EXPECT_ERROR(loadModel("OtherAbi"), "compiled by another version of halfstep");
}

TEST(CpuFeatures, ListsOnlyWhatIsMissing) {
  EXPECT_EQ(missingCpuFeatures(""), "");
  EXPECT_EQ(missingCpuFeatures("avx2,fma,f16c,bmi,bmi2,lzcnt,movbe"), "");
  EXPECT_EQ(missingCpuFeatures("a,avx2,b"), "a,b");
}

} // namespace

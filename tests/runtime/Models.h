//===- Models.h - What the runtime's tests share ------------------------------------*- C++ -*-===//
//
// The variants of LinearModel.cpp by name, their weights, and a folder that vanishes with the test.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_TESTS_RUNTIME_MODELS_H
#define HALFSTEP_TESTS_RUNTIME_MODELS_H

#include "runtime/Session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace halfstep::runtime {

inline std::string modelPath(const std::string &name) { return MODEL_DIR "/" + name + ".so"; }

inline std::shared_ptr<const Artefact> loadModel(const std::string &name = "LinearModel") {
  return Payload::open(modelPath(name)).artefact;
}

/// The bytes of a safetensors file.
inline std::string fileOf(std::vector<NamedTensor> tensors, const Metadata &metadata = {}) {
  std::string bytes = safetensorsHeader("test", tensors, metadata);
  for (const NamedTensor &tensor : tensors)
    bytes.append(static_cast<const char *>(tensor.data), tensor.bytes);
  return bytes;
}

/// A file that holds the model's one parameter.
inline std::string weightsFile(const std::vector<float> &weight) {
  return fileOf(
      {{"fc.weight", HS_F32, {int64_t(weight.size())}, weight.data(), weight.size() * 4}});
}

inline const std::vector<float> startWeight = {1, -2, 3, 0.5, 0.25};

/// A session of `LinearModel` at its start.
inline std::unique_ptr<Session> startSession(int threads = 1) {
  auto session = std::make_unique<Session>(loadModel(), threads);
  std::string weights = weightsFile(startWeight);
  session->initialise(Safetensors::parse("weights", weights));
  return session;
}

/// One batch of LinearModel, different for each step.
struct Batch {
  explicit Batch(int step) {
    uint32_t random = 12345 + 77 * uint32_t(step);
    auto next = [&] { return float((random = random * 1664525 + 1013904223) >> 8) / (1 << 24); };
    for (float &value : x)
      value = next() - 0.5f;
    for (float &value : label)
      value = next();
  }
  float x[4 * 5], label[4];
};

inline void trainOneStep(Session &session, int step) {
  Batch batch(step);
  session.bindInput(0, batch.x);
  session.bindInput(1, batch.label);
  session.micro();
  session.update();
}

/// A folder for one test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = ::testing::TempDir() + "halfstep-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }

  std::string operator/(const std::string &name) const { return path + "/" + name; }

  std::string path;
};

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The message of the Error that `action` throws; empty if it throws none.
template <typename Action> std::string errorOf(Action action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// That the error of `action` contains `text`.
#define EXPECT_ERROR(action, text)                                                                 \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text, ::halfstep::runtime::errorOf([&] { action; }))

} // namespace halfstep::runtime

#endif

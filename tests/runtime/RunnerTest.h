//===- RunnerTest.h - What the tests of data and training share ---------------------*- C++ -*-===//
//
// Data files, sessions of RunnerModel.c, and training executables made of the runner and its
// variants.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_TESTS_RUNTIME_RUNNERTEST_H
#define HALFSTEP_TESTS_RUNTIME_RUNNERTEST_H

#include "Models.h"
#include "runtime/Npy.h"

#include <sys/wait.h>
#include <type_traits>

namespace halfstep::runtime {

template <typename T> constexpr hs_type typeOf() {
  if constexpr (std::is_same_v<T, float>)
    return HS_F32;
  else if constexpr (std::is_same_v<T, double>)
    return HS_F64;
  else if constexpr (std::is_same_v<T, int64_t>)
    return HS_I64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return HS_I32;
  else
    return HS_U8;
}

/// Writes an array of the given sample shape; the number of samples follows from `values`.
template <typename T>
void writeNpy(const std::string &path, const std::vector<T> &values,
              std::vector<int64_t> sampleShape = {}) {
  int64_t samples = int64_t(values.size());
  for (int64_t dimension : sampleShape)
    samples /= dimension;
  sampleShape.insert(sampleShape.begin(), samples);
  writeFile(path, npyPreamble(typeOf<T>(), sampleShape) +
                      std::string(reinterpret_cast<const char *>(values.data()),
                                  values.size() * sizeof(T)));
}

/// Features of `samples` samples for RunnerModel.c, and labels that its model can learn.
struct Samples {
  explicit Samples(size_t samples) {
    uint32_t random = 1;
    auto next = [&] {
      return float((random = random * 1664525 + 1013904223) >> 8) / (1 << 23) - 1;
    };
    for (size_t i = 0; i < samples; ++i) {
      float features[] = {next(), next(), next()};
      x.insert(x.end(), features, features + 3);
      label.push_back(features[0] - 2 * features[1] + 0.5f * features[2]);
    }
  }
  std::vector<float> x, label;
};

inline const std::vector<float> runnerModelStart = {0.5f, 0.25f, -1};

inline std::string runnerModelWeights() {
  return fileOf({{"w", HS_F32, {3}, runnerModelStart.data(), 12}});
}

/// A session of a variant of RunnerModel.c at its start.
inline std::unique_ptr<Session> startRunnerModel(const std::string &variant = "RunnerModel") {
  auto session = std::make_unique<Session>(loadModel(variant), 1);
  std::string weights = runnerModelWeights();
  session->initialise(Safetensors::parse("weights", weights));
  return session;
}

/// A training executable: the runner with a variant of RunnerModel.c appended.
inline void writeExecutable(const std::string &path, const std::string &variant = "RunnerModel") {
  std::string bytes = readFile(RUNNER);
  auto append = [&](const std::string &part) {
    bytes.resize((bytes.size() + payloadAlignment - 1) / payloadAlignment * payloadAlignment);
    uint64_t offset = bytes.size();
    bytes += part;
    return offset;
  };
  std::string artefact = readFile(modelPath(variant)), weights = runnerModelWeights();
  PayloadTrailer trailer = {};
  std::copy_n(payloadMagic, sizeof trailer.magic, trailer.magic);
  trailer.version = payloadVersion;
  trailer.artefactOffset = append(artefact);
  trailer.artefactBytes = artefact.size();
  trailer.weightsOffset = append(weights);
  trailer.weightsBytes = weights.size();
  bytes.append(reinterpret_cast<const char *>(&trailer), sizeof trailer);
  writeFile(path, bytes);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

struct Outcome {
  int exitCode; // -1: ended by a signal
  std::string output, errors;
};

/// Runs a shell command in a folder.
inline Outcome runIn(const TemporaryFolder &folder, const std::string &command) {
  std::string whole = "cd '" + folder.path + "' && { " + command + "; } > stdout.txt 2> stderr.txt";
  int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(folder / "stdout.txt"),
          readFile(folder / "stderr.txt")};
}

} // namespace halfstep::runtime

#endif

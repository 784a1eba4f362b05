//===- Evaluation.cpp - Metrics and outputs ---------------------------------------------------===//

#include "runtime/Evaluation.h"

#include "runtime/Interrupt.h"
#include "runtime/OutputFiles.h"
#include "runtime/Suggestion.h"
#include "runtime/Types.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace halfstep::runtime {

namespace {

std::vector<const hs_tensor *> tensorsOf(const Session &session, hs_role role) {
  const hs_artefact &artefact = session.artefact();
  std::vector<const hs_tensor *> found;
  for (uint64_t i = 0; i < artefact.tensor_count; ++i)
    if (artefact.tensors[i].role == role)
      found.push_back(&artefact.tensors[i]);
  return found;
}

std::vector<const hs_tensor *> selectMetrics(const Session &session,
                                             const std::vector<std::string> &names) {
  std::vector<const hs_tensor *> available = tensorsOf(session, HS_METRIC), selected;
  if (names.empty())
    return available;
  for (const std::string &name : names) {
    const hs_tensor *metric = session.find(HS_METRIC, name);
    if (!metric) {
      std::vector<std::string> known;
      for (const hs_tensor *tensor : available)
        known.push_back(tensor->name);
      throw unknownName("--metric", "metric", name, known);
    }
    if (std::find(selected.begin(), selected.end(), metric) == selected.end())
      selected.push_back(metric);
  }
  return selected;
}

/// Begins to stage the batches in file order that follow the bound one, from `next` up to `end`.
void prefetchRanges(Loader &loader, uint64_t next, uint64_t end) {
  next += loader.prefetched() * loader.batch();
  for (; next < end && loader.canPrefetch(/*isRange=*/true); next += loader.batch())
    loader.prefetchRange(next);
}

} // namespace

Evaluator::Evaluator(Session &session, const std::vector<std::string> &paths,
                     const std::vector<std::string> &names, bool quiet)
    : session(session), loader(session, paths), metrics(selectMetrics(session, names)) {
  assert(!metrics.empty() && "what is trained has a loss");
  uint64_t left = loader.samples() % loader.batch();
  if (left == loader.samples())
    throw tooFewSamples(loader, loader.batch());
  if (left != 0 && !quiet)
    std::fprintf(stderr,
                 "halfstep: warning: %s: the last %llu of %llu samples do not fill a batch of %llu "
                 "and are not evaluated\n",
                 loader.firstPath().c_str(), static_cast<unsigned long long>(left),
                 static_cast<unsigned long long>(loader.samples()),
                 static_cast<unsigned long long>(loader.batch()));
}

Metrics Evaluator::run() {
  Metrics result;
  for (const hs_tensor *metric : metrics)
    result.values.emplace_back(metric->name, 0.0);

  uint64_t batches = loader.samples() / loader.batch();
  for (uint64_t i = 0; i < batches && !Interrupt::requested(); ++i) {
    loader.bindRange(i * loader.batch());
    prefetchRanges(loader, (i + 1) * loader.batch(), batches * loader.batch());
    session.evaluate();
    for (size_t m = 0; m < metrics.size(); ++m)
      result.values[m].second += session.readScalar(*metrics[m]);
  }
  loader.checkComplete();
  for (auto &[name, value] : result.values)
    value /= double(batches);
  result.samples = batches * loader.batch();
  return result;
}

namespace {

/// The type of an output's file.
hs_type writtenType(const hs_tensor &output) {
  return output.file_type == HS_BF16 ? HS_F32 : hs_type(output.file_type); // NumPy has no bf16
}

/// The file of one output while it grows.
struct OutputFile {
  const hs_tensor *tensor;
  std::unique_ptr<ReplacedFile> file;

  /// Appends the first `samples` of the batch that the session holds.
  void append(const Session &session, uint64_t samples) const {
    auto *data = static_cast<const char *>(session.data(*tensor));
    size_t elements = elementCount(*tensor) / size_t(tensor->shape[0]) * samples;
    hs_type type = hs_type(tensor->type), written = writtenType(*tensor);
    if (type == written) {
      file->write(data, elements * elementBytes(type));
      return;
    }
    float widened[4096]; // part by part: an output may be as large as all else together
    for (size_t part; elements > 0; elements -= part, data += part * elementBytes(type)) {
      part = std::min(elements, std::size(widened));
      convert(data, type, widened, HS_F32, part);
      file->write(widened, part * sizeof(float));
    }
  }
};

} // namespace

void writeOutputs(Session &session, const std::vector<std::string> &paths,
                  const std::string &directory, const std::vector<std::string> &inputs) {
  Loader loader(session, paths);
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    throw Error(directory, "cannot be created: " + failure.message());

  std::vector<OutputFile> outputs;
  for (const hs_tensor *tensor : tensorsOf(session, HS_OUTPUT)) {
    if (tensor->rank == 0 || uint64_t(tensor->shape[0]) != loader.batch())
      throw Error(session.name(), std::string("output ") + tensor->name + ", " + describe(*tensor) +
                                      ", has no value of its own for a sample");
    std::string path = directory + "/" + fileNameOf(tensor->name) + ".npy";
    checkIsNoInput("--out", path, inputs);
    std::vector<int64_t> shape = shapeOf(*tensor);
    shape[0] = int64_t(loader.samples());
    outputs.push_back({tensor, std::make_unique<ReplacedFile>(path)});
    std::string preamble = npyPreamble(writtenType(*tensor), shape);
    outputs.back().file->write(preamble.data(), preamble.size());
  }

  for (uint64_t first = 0; first < loader.samples(); first += loader.batch()) {
    loader.bindRange(first);
    prefetchRanges(loader, first + loader.batch(), loader.samples());
    session.infer();
    uint64_t samples = std::min(loader.batch(), loader.samples() - first);
    for (const OutputFile &output : outputs)
      output.append(session, samples);
  }
  loader.checkComplete();
  for (const OutputFile &output : outputs)
    output.file->commit();
}

std::string fileNameOf(const std::string &tensorName) {
  std::string name;
  for (char c : tensorName) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '-' || (c == '.' && !name.empty());
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", static_cast<unsigned char>(c));
    name += plain ? std::string(1, c) : escaped;
  }
  return name;
}

} // namespace halfstep::runtime

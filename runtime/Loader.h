//===- Loader.h - Batches from files into a session ---------------------------------*- C++ -*-===//
//
// Feeds a session from data files, a batch at a time.
//
// The leading dimension of a file is the sample axis. A batch that lies together in a file in the
// type that the step reads is bound where it is mapped; every other batch is gathered and converted
// into a staging buffer. Class ids are always staged, and checked there: what a kernel indexes with
// cannot change after the check, whatever happens to the file.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_LOADER_H
#define HALFSTEP_RUNTIME_LOADER_H

#include "runtime/Conversion.h"
#include "runtime/DataFile.h"
#include "runtime/Session.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace halfstep::runtime {

/// The name that the user gives an input's file: its ONNX name, or "label".
const char *inputName(const hs_tensor &input);

class Loader {
public:
  /// `paths[i]` is the file of the session's inputs[i]; an empty path leaves that input unbound.
  /// Throws where a file is damaged, or its type, shape or sample count does not fit.
  Loader(Session &session, const std::vector<std::string> &paths);

  /// Samples in each file.
  uint64_t samples() const { return sampleCount; }
  /// The file that samples are counted in, for messages.
  const std::string &firstPath() const { return columns.front().file.path(); }
  /// Samples in a batch, as the step's programs take them.
  uint64_t batch() const { return batchSize; }

  /// Binds samples first, first + 1, ...; beyond the end, the last sample is repeated. Throws on
  /// values that the step must not read, naming file, sample and value.
  void bindRange(uint64_t first) { bindSamples(nullptr, first); }
  /// Binds the samples rows[0], rows[1], ...
  void bindRows(const uint64_t *rows) { bindSamples(rows, 0); }

  /// Throws if a file has become shorter or could not be read. To be called before results are
  /// kept, and as soon as `LostPages` have occurred.
  void checkComplete() const;

private:
  struct Free {
    void operator()(char *buffer) const { std::free(buffer); }
  };
  /// One input and its file.
  struct Column {
    size_t index; // of the input
    const hs_tensor *tensor;
    DataFile file;
    size_t sampleElements, storedBytes, sampleBytes; // of a sample: in the file, in the step
    Conversion convert;                              // null: copy bytes
    bool direct;                                     // batches in file order need no staging
    std::unique_ptr<char, Free> staging;
  };

  void addColumn(size_t index, const std::string &path);
  void bindSamples(const uint64_t *rows, uint64_t first);
  void copySamples(const Column &column, uint64_t sample, uint64_t count, uint64_t position);
  void checkClasses(const Column &column, const uint64_t *rows, uint64_t first) const;
  uint64_t rowAt(const uint64_t *rows, uint64_t first, uint64_t position) const {
    return rows ? rows[position] : std::min(first + position, sampleCount - 1);
  }

  LostPages lostPages; // before the first read of a file
  Session &session;
  std::vector<Column> columns;
  uint64_t sampleCount = 0, batchSize = 0;
};

/// What to throw when `loader`'s files do not hold the `needed` samples of one batch.
Error tooFewSamples(const Loader &loader, uint64_t needed);

} // namespace halfstep::runtime

#endif

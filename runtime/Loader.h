//===- Loader.h - Batches from files into a session ---------------------------------*- C++ -*-===//
//
// Feeds a session from data files, a batch at a time.
//
// The leading dimension of a file is the sample axis. A batch that lies together in a file in the
// type that the step reads is bound where it is mapped; every other batch is staged: gathered and
// converted into a slot of the session. Class ids are always staged, and checked there: what a
// kernel indexes with cannot change after the check, whatever happens to the file.
//
// Batches take the slots in turn. Those behind the bound one can be filled ahead, in another
// thread, where that takes longer than to wake it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_LOADER_H
#define HALFSTEP_RUNTIME_LOADER_H

#include "runtime/Conversion.h"
#include "runtime/DataFile.h"
#include "runtime/Session.h"
#include "runtime/StagingThread.h"

#include <algorithm>
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
  void bindRange(uint64_t first) { bind({nullptr, first}); }
  /// Binds the samples rows[0], rows[1], ...
  void bindRows(const uint64_t *rows) { bind({rows, 0}); }

  /// Whether there is a slot for a batch behind those that are staged, and it takes so long to fill
  /// that another thread should.
  bool canPrefetch(bool isRange) const;
  /// Begin to stage what is bound next, in the order of these calls, if `canPrefetch`. Errors are
  /// thrown where the batch is bound; binding another batch instead is slow, not wrong.
  void prefetchRange(uint64_t first) { prefetch({nullptr, first}); }
  void prefetchRows(const uint64_t *rows) { prefetch({rows, 0}); }
  /// How many batches are staged behind the bound one.
  uint64_t prefetched() const { return staged - bound - 1; }
  /// Forgets them, before another loader uses the session's slots.
  void cancelPrefetch();

  /// Throws if a file has become shorter or could not be read. To be called before results are
  /// kept, and as soon as `LostPages` have occurred.
  void checkComplete() const;

private:
  /// The samples `rows` or, without, `first` and those behind it.
  struct Batch {
    const uint64_t *rows;
    uint64_t first;
  };
  /// What is in a slot.
  struct Slot {
    bool isRange;
    uint64_t first;
    std::vector<uint64_t> rows; // a copy: the caller's may change while the slot is filled
    Batch batch() const { return {isRange ? nullptr : rows.data(), first}; }
  };
  /// One input and its file.
  struct Column {
    size_t index; // of the input
    const hs_tensor *tensor;
    DataFile file;
    size_t sampleElements, storedBytes, sampleBytes; // of a sample: in the file, in the step
    Conversion convert;                              // null: copy bytes
    bool direct;                                     // batches in file order need no staging
  };

  void addColumn(size_t index, const std::string &path);
  void bind(Batch batch);
  void prefetch(Batch batch);
  void note(Slot &slot, Batch batch) const;
  bool holds(const Slot &slot, Batch batch) const;
  bool isDirect(const Column &column, Batch batch) const {
    return column.direct && !batch.rows && batch.first + batchSize <= sampleCount;
  }
  void stage(size_t slot) const;
  void copySamples(const Column &column, uint64_t sample, uint64_t count, char *target) const;
  void checkClasses(const Column &column, Batch batch, const char *staged) const;
  uint64_t rowAt(Batch batch, uint64_t position) const {
    return batch.rows ? batch.rows[position] : std::min(batch.first + position, sampleCount - 1);
  }

  LostPages lostPages; // before the first read of a file
  Session &session;
  std::vector<Column> columns;
  uint64_t sampleCount = 0, batchSize = 0;
  std::vector<Slot> slots;
  // Batches are numbered; number i is in slot i mod slots.size(). `bound` is the one that the
  // session reads, `staged` the one that would be staged next.
  uint64_t bound = UINT64_MAX, staged = 0; // none yet
  StagingThread thread;                    // last: it uses all of the above
};

/// What to throw when `loader`'s files do not hold the `needed` samples of one batch.
Error tooFewSamples(const Loader &loader, uint64_t needed);

} // namespace halfstep::runtime

#endif

//===- Backend.h - What executes an artefact's programs -----------------------------*- C++ -*-===//
//
// What executes an artefact's programs: it has the state, the arena and the input slots, wherever
// they are. A session is what all back ends have in common.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_BACKEND_H
#define HALFSTEP_RUNTIME_BACKEND_H

#include "runtime/step_abi.h"

#include <functional>
#include <string>

namespace halfstep::runtime {

/// Is called in the place of an entry: it sees the entry's buffers, in the order of its slices, in
/// the host's memory, and executes it by `run`.
using EntryVisitor =
    std::function<void(const hs_entry &, void *const *buffers, const std::function<void()> &run)>;

/// What a back end is opened for. Training runs all programs but `infer`, inference that one and
/// `init`; neither takes memory for the other's, of which outputs and labels can be most.
enum class Use { Training, Inference, Any };
bool isRunIn(Use use, hs_program_kind program);

class Backend {
public:
  Backend() = default;
  Backend(const Backend &) = delete;
  Backend &operator=(const Backend &) = delete;
  virtual ~Backend() = default;

  /// Sets the whole state to zero bytes.
  virtual void clearState() = 0;
  /// The bytes of a slice of state or arena, valid until the next program runs.
  virtual const void *view(const hs_slice &slice) = 0;
  /// Replaces a slice of state or arena.
  virtual void write(const hs_slice &slice, const void *source) = 0;

  /// One of the places to fill for an input; `bindInput` is what makes a program read it.
  virtual char *inputSlot(size_t index, uint64_t slot) const = 0;
  virtual void bindInput(size_t index, const void *data) = 0;

  /// Runs a program. It may be still running afterwards; what is viewed or recorded waits for it.
  virtual void run(hs_program_kind program) = 0;
  virtual void runEntries(hs_program_kind program, const EntryVisitor &visit) = 0;
  /// The rows that programs have written to a tensor of records.
  virtual const double *records(const hs_tensor &tensor) = 0;
};

/// Bytes of the arena that the programs of a use need.
uint64_t arenaBytes(const hs_artefact &artefact, Use use);

/// Throws where a slice of an entry is not within its buffer. `name` is the artefact's.
void checkSlice(const std::string &name, const hs_artefact &artefact, const hs_entry &entry,
                const hs_slice &slice);

} // namespace halfstep::runtime

#endif

//===- Session.h - One training run in memory ---------------------------------------*- C++ -*-===//
//
// One training run in memory: state, arena, bound inputs, and the programs of an artefact.
//
// Everything that can fail or take time happens when a session is made: memory is reserved, every
// entry of every program is resolved into a function and its pointers. A step after that is a walk
// over a flat list: no allocation, no look-up, no system call.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_SESSION_H
#define HALFSTEP_RUNTIME_SESSION_H

#include "runtime/Backend.h"
#include "runtime/Device.h"
#include "runtime/Payload.h"
#include "runtime/Safetensors.h"

#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace halfstep::runtime {

/// One row of the metrics ring: what an update did. Fields that the artefact does not record keep
/// the values given here.
struct Record {
  double loss = std::numeric_limits<double>::quiet_NaN();
  double lr = std::numeric_limits<double>::quiet_NaN();
  double scale = 1;
  double gradNorm = std::numeric_limits<double>::quiet_NaN();
  double iteration = 0; // after the update
  double applied = 0;   // after the update
  bool skipped = false;
};

class Session {
public:
  /// Reserves memory and resolves the programs, on the CPU with `threads` >= 1, or on `device` if
  /// the artefact is for CUDA. Throws where memory, the device or a library is missing. The state
  /// is zero; call `initialise` or restore a checkpoint.
  Session(std::shared_ptr<const Artefact> artefact, int threads, const DeviceChoice &device = {},
          Use use = Use::Any);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const hs_artefact &artefact() const { return handle->tables(); }
  /// The artefact's file, for messages.
  const std::string &name() const { return handle->name(); }

  /// Starts from scratch: zero state, parameters from `weights`, hyperparameters at their compiled
  /// defaults, then the program `init`.
  void initialise(const Safetensors &weights);

  /// Replaces the parameters alone, converting float types; runs `init`. Throws, before anything is
  /// changed, naming the first parameter that is missing or has another shape.
  void loadParameters(const Safetensors &weights);

  /// One of the `artefact().input_slots` places to fill for an input, which are the session's own
  /// memory. What is in it is read once it is bound.
  char *inputSlot(size_t index, uint64_t slot) const;

  /// Makes `inputs[index]` read from `data`, which holds the input's bytes and stays valid and
  /// unchanged while programs run. On the CPU nothing is copied; element alignment is enough. A
  /// device gets a copy.
  void bindInput(size_t index, const void *data);

  /// Runs a program; an empty one does nothing. Throws where an input that it reads is not bound.
  void run(hs_program_kind program);

  /// Runs a program, each entry through `visit`.
  void runEntries(hs_program_kind program, const EntryVisitor &visit);

  /// One micro-batch forward and backward, of `artefact().micro_batches` for one update.
  void micro() { run(HS_MICRO); }
  /// The optimizer, once all micro-batches of a step have run.
  void update() { run(HS_UPDATE); }
  void evaluate() { run(HS_EVALUATE); }
  void infer() { run(HS_INFER); }

  /// A named tensor by role, or null. A search: not for the inside of a loop.
  const hs_tensor *find(hs_role role, std::string_view name) const;

  /// The bytes of a tensor of the directory (not of an input), valid until the next program runs.
  /// Outputs and metrics hold values only directly after `infer` and `evaluate`.
  const void *data(const hs_tensor &tensor) const;
  void read(const hs_tensor &tensor, void *target) const;
  void write(const hs_tensor &tensor, const void *source);

  /// Scalars of type f32 or f64: counters, hyperparameters, metrics.
  double readScalar(const hs_tensor &tensor) const;
  void writeScalar(const hs_tensor &tensor, double value);

  /// The record of the update that began at counter value `iteration` (0 for the first); one of the
  /// last 64 updates.
  Record record(uint64_t iteration) const;

  /// Sets the whole state, or a slice of state or arena, to zero bytes.
  void clear();
  void clear(const hs_slice &slice);

private:
  std::shared_ptr<const Artefact> handle;
  std::unique_ptr<Backend> backend;
  std::vector<const hs_tensor *> recordColumns; // as Record's fields; null where absent
};

} // namespace halfstep::runtime

#endif

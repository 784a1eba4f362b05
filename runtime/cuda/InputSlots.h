//===- InputSlots.h - Inputs on their way to a device -------------------------------*- C++ -*-===//
//
// Inputs are copied on a stream of their own, while programs before still run. Two kinds of events
// order the streams: a program waits for the copies into the slots that it reads, a copy into a
// slot for the program that read it last.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CUDA_INPUTSLOTS_H
#define HALFSTEP_RUNTIME_CUDA_INPUTSLOTS_H

#include "runtime/Backend.h"
#include "runtime/cuda/Context.h"

#include <array>
#include <vector>

namespace halfstep::runtime::cuda {

class InputSlots {
public:
  /// Lays out the slots of all inputs, without labels for an inference; `allocateMemory` is still
  /// to be called.
  InputSlots(const DeviceContext &context, const hs_artefact &artefact, Use use);
  ~InputSlots();

  /// Of all slots, on the device; the host has as much.
  uint64_t bytes() const { return total; }
  void allocateMemory();

  /// Where the host finds a slot, to fill it before it binds it.
  char *onHost(size_t index, uint64_t slot) const;
  /// Copies `data` into the next slot of an input, and has programs read it there. Returns when the
  /// host may fill all other slots, or this one if it is the only one.
  void bind(size_t index, const void *data);

  /// Notes that a program reads an input.
  void addReader(size_t index, hs_program_kind kind) { inputs[index].isReadBy[kind] = true; }
  /// The first input that a program reads and that nothing is bound to; -1 if there is none.
  int64_t firstUnbound(hs_program_kind kind) const;
  /// The slots that a program reads, which are part of its addresses.
  std::vector<uint64_t> boundTo(hs_program_kind kind) const;
  /// Where the bound slot of an input is.
  Address address(size_t index) const;

  /// Has what `stream` does next wait for the copies that the program reads.
  void waitForCopies(hs_program_kind kind, Stream stream) const;
  /// Has later copies wait for the program, whose work is in `stream`.
  void noteReads(hs_program_kind kind, Stream stream) const;

private:
  struct Slot {
    uint64_t offset; ///< in the memory of all slots
    OwnedEvent copied, read;
  };
  struct Input {
    std::vector<Slot> slots;
    std::array<bool, HS_PROGRAM_COUNT> isReadBy{};
    uint64_t bound = 0; ///< its slot
    bool isBound = false;
  };
  const Slot &boundSlot(const Input &input) const { return input.slots[input.bound]; }

  const DeviceContext &context;
  const hs_artefact &artefact;
  std::vector<Input> inputs;
  uint64_t total = 0;
  OwnedMemory memory;
  OwnedHostMemory hostMemory;
  OwnedStream copies;
};

} // namespace halfstep::runtime::cuda

#endif

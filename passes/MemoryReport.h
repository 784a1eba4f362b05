//===- MemoryReport.h - Where the memory of a planned module goes ---------===//
//
// For people and for `inspect --phase memory`. The report has one address space and one time line:
// state, then the arena, then labels and inputs, then the scratch memory of all threads; the
// entries of all programs in their order (init, micro, update, evaluate, infer), numbered from 0,
// with one number for the end of each program.
//
// A run trains or infers (runtime's Use). What an inference alone needs of the arena may thus lie
// where a training run has its labels.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_MEMORYREPORT_H
#define HALFSTEP_PASSES_MEMORYREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace halfstep {

struct MemorySlice {
  std::string name;        // of a tensor of the directory, or PROGRAM/ENTRY/KERNEL[:RESULT]
  std::string node;        // the ONNX nodes that it comes from; may be empty
  std::string memoryClass; // one of MemoryReport::classes
  std::string type;        // 16x10xf32
  uint64_t offset, bytes;
  /// The entries from which and up to which it occupies its bytes. Where an entry works in place,
  /// the bytes are its result's.
  unsigned first, last;
};

struct MemoryReport {
  /// By class, the most bytes that are live at a time. Every class is there.
  std::vector<std::pair<std::string, uint64_t>> classes;
  /// All buffers of a run together.
  uint64_t peakBytes = 0;
  uint64_t stateBytes = 0, arenaBytes = 0;
  /// Of each thread, and how many there are.
  uint64_t scratchBytes = 0;
  unsigned threads = 1;
  /// What of the arena is more than the bytes live at its busiest entry.
  uint64_t fragmentation = 0;
  std::vector<MemorySlice> slices;
  /// Indices of the slices of the arena that are live at its busiest entry.
  std::vector<unsigned> liveAtPeak;

  /// The report on a module behind the memory phase, for a run on so many threads.
  static MemoryReport of(mlir::ModuleOp module, unsigned threads);
  /// {"version": 1, "classes": {CLASS: BYTES}, "peak_bytes", "scratch": {"bytes_per_thread",
  /// "threads"}, "live_at_peak": [NAME], "slices": [...]}
  std::string toJson() const;
};

} // namespace halfstep

#endif

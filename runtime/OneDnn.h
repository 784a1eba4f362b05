//===- OneDnn.h - Matrix products by oneDNN -----------------------------------------*- C++ -*-===//
//
// Matrix products by oneDNN, whose shared library is loaded only when a plan has one.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_ONEDNN_H
#define HALFSTEP_RUNTIME_ONEDNN_H

#include "runtime/GemmBlock.h"
#include "runtime/Memory.h"
#include "runtime/step_abi.h"

#include <array>
#include <memory>
#include <vector>

struct dnnl_stream;

namespace halfstep::runtime {

/// What the products of one session share: a stream and scratch memory for each worker.
class OneDnn {
public:
  /// Loads the library; throws with the way out where it is missing. `workers` as ThreadPool's
  /// threads.
  explicit OneDnn(int workers);
  OneDnn(const OneDnn &) = delete;
  OneDnn &operator=(const OneDnn &) = delete;
  ~OneDnn();

  int workers() const { return int(streams.size()); }
  dnnl_stream *stream(int worker) const { return streams[size_t(worker)]; }
  char *scratch(int worker) const { return memory->data() + uint64_t(worker) * scratchBytes; }
  /// Sees to it that each worker has that much scratch; while nothing runs.
  void reserveScratch(uint64_t bytes);

private:
  std::vector<dnnl_stream *> streams;
  std::unique_ptr<Memory> memory;
  uint64_t scratchBytes = 0;
};

/// One product of fixed shape, ready to run.
class OneDnnGemm {
public:
  /// Throws where oneDNN does not know the combination of types on this machine.
  OneDnnGemm(OneDnn &oneDnn, const hs_gemm &gemm);
  ~OneDnnGemm();

  /// The number of blocks.
  int64_t units() const { return batchBlocks * rowBlocks * columnBlocks; }

  /// A range kernel over blocks. Buffers: a, b, c, the OneDnnGemm.
  static void run(void *const *buffers, int64_t lo, int64_t hi);

private:
  struct Shape;

  void runBlock(const char *a, const char *b, char *c, int64_t index, int worker) const;
  const Shape &shape(bool isLastBatch, bool isLastRow, bool isLastColumn) const;

  OneDnn &oneDnn;
  const hs_gemm gemm;
  const GemmBlock block;
  const int64_t batchBlocks, rowBlocks, columnBlocks;
  // Blocks at the end of a dimension may be smaller: one primitive for each of the sizes.
  std::array<std::unique_ptr<Shape>, 8> shapes;
};

} // namespace halfstep::runtime

#endif

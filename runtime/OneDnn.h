//===- OneDnn.h - oneDNN, one thread at a time --------------------------------------*- C++ -*-===//
//
// oneDNN's shared library is loaded only when a plan needs it. Each of its primitives runs on one
// thread of our pool: who cuts work into primitives decides how it is shared out, and the same bits
// come out for any number of threads.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_ONEDNN_H
#define HALFSTEP_RUNTIME_ONEDNN_H

#include "runtime/Memory.h"
#include "runtime/step_abi.h"

#include <array>
#include <vector>

struct dnnl_memory;
struct dnnl_primitive;
struct dnnl_stream;

namespace halfstep::runtime {

/// What the primitives of one session share: a stream and scratch memory for each worker.
class OneDnn {
public:
  /// Loads the library; throws with the way out where it is missing. `workers` as ThreadPool's
  /// threads.
  explicit OneDnn(int workers);
  OneDnn(const OneDnn &) = delete;
  OneDnn &operator=(const OneDnn &) = delete;
  ~OneDnn();

  int workers() const { return scratch.workers(); }
  dnnl_stream *stream(int worker) const { return streams[size_t(worker)]; }

  WorkerMemory scratch; // of a primitive

private:
  std::vector<dnnl_stream *> streams;
};

/// oneDNN plans for and runs on as many threads as OpenMP would use; while this lives, on the
/// calling one alone. That thread can take signals meanwhile.
class OnOneThread {
public:
  OnOneThread();
  OnOneThread(const OnOneThread &) = delete;
  OnOneThread &operator=(const OnOneThread &) = delete;
  ~OnOneThread();

private:
  int threads;
};

/// A matrix product of fixed shape, ready to run.
class OneDnnProduct {
public:
  /// Whether oneDNN has more than its reference code for these types on this CPU.
  static bool isSupported(const hs_gemm &gemm);

  /// c = op(a) op(b) + bias or, to `accumulate` and without bias, c += op(a) op(b); run by up to
  /// `workers` workers at once. Throws where it is not supported.
  OneDnnProduct(OneDnn &oneDnn, const hs_gemm &gemm, bool accumulate, int workers);
  OneDnnProduct(const OneDnnProduct &) = delete;
  OneDnnProduct &operator=(const OneDnnProduct &) = delete;
  ~OneDnnProduct();

  /// On one thread; an OnOneThread must live. A `bias` is there where the product has one.
  void run(int worker, const void *a, const void *b, void *c, const void *bias = nullptr) const;

private:
  OneDnn &oneDnn;
  dnnl_primitive *primitive = nullptr;
  // For each worker the objects that carry its pointers: to a, b, c, the bias or null, and the
  // scratch memory.
  std::vector<std::array<dnnl_memory *, 5>> memories;
};

} // namespace halfstep::runtime

#endif

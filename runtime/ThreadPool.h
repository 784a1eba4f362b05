//===- ThreadPool.h - Range kernels on several threads ------------------------------*- C++ -*-===//
//
// Runs range kernels on several threads: the threads of libgomp.
//
// oneDNN brings libgomp's pool anyway, and two pools on one set of cores fight each other. Nothing
// here is compiled with OpenMP: the pool is entered through libgomp's own entry point, and the
// library is loaded only when a plan has work to share.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_THREADPOOL_H
#define HALFSTEP_RUNTIME_THREADPOOL_H

#include "runtime/step_abi.h"

namespace halfstep::runtime {

/// The entry points of libgomp.
struct OpenMP {
  void (*parallel)(void (*body)(void *), void *data, unsigned threads, unsigned flags);
  int (*threadIndex)();
  int (*threadCount)();
  int (*maxThreads)();
  void (*setThreads)(int);

  /// Loads the library, once; null where it is missing.
  static const OpenMP *get();
};

class ThreadPool {
public:
  /// `threads` >= 1.
  explicit ThreadPool(int threads) : count(threads) {}

  int threads() const { return count; }

  /// Loads libgomp, for who is going to call `run`. Where it is missing, everything runs on the
  /// calling thread: slower, with the same results.
  void start();

  /// Runs `kernel` over [0, units) in at most `tasks` ranges at once; returns when all are done.
  void run(hs_kernel kernel, void *const *buffers, int64_t units, int tasks) const;

  /// Which of the pool's threads runs the calling kernel, in [0, threads()); 0 outside `run`.
  static int workerIndex();

private:
  const OpenMP *openMP = nullptr;
  int count;
};

} // namespace halfstep::runtime

#endif

//===- ThreadPool.cpp - Range kernels on several threads --------------------------------------===//
//
// How long idle threads of libgomp spin is decided when it is loaded, by its environment. Its
// default, to spin for a long time, makes a step twenty times slower as soon as another program
// wants a core; a short spin followed by sleep costs nothing measurable where cores are free.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/ThreadPool.h"

#include "runtime/Library.h"

#include <cstdlib>

namespace halfstep::runtime {

// About 10 microseconds: longer than the gap between two entries of a step.
static constexpr char spinCount[] = "10000";

static thread_local int currentWorker = 0;

static const OpenMP *loadOpenMP() {
  static OpenMP functions;
  // Where the host program has decided how to wait, or has already loaded libgomp, so be it.
  bool isDecided = getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY");
  if (!isDecided)
    setenv("GOMP_SPINCOUNT", spinCount, 1);
  static Library library("libgomp.so.1");
  if (!isDecided)
    unsetenv("GOMP_SPINCOUNT");

  bool complete = library.resolve("GOMP_parallel", functions.parallel) &&
                  library.resolve("omp_get_thread_num", functions.threadIndex) &&
                  library.resolve("omp_get_num_threads", functions.threadCount) &&
                  library.resolve("omp_get_max_threads", functions.maxThreads) &&
                  library.resolve("omp_set_num_threads", functions.setThreads);
  return complete ? &functions : nullptr;
}

const OpenMP *OpenMP::get() {
  static const OpenMP *functions = loadOpenMP();
  return functions;
}

void ThreadPool::start() { openMP = OpenMP::get(); }

namespace {
struct Work {
  const OpenMP *openMP;
  hs_kernel kernel;
  void *const *buffers;
  int64_t units;
};
} // namespace

// Each thread's share. libgomp may give fewer threads than asked for.
static void runShare(void *data) {
  const Work &work = *static_cast<Work *>(data);
  int64_t index = work.openMP->threadIndex(), count = work.openMP->threadCount();
  int64_t share = work.units / count, rest = work.units % count;
  int64_t begin = share * index + (index < rest ? index : rest);
  currentWorker = int(index);
  work.kernel(work.buffers, begin, begin + share + (index < rest));
  currentWorker = 0;
}

void ThreadPool::run(hs_kernel kernel, void *const *buffers, int64_t units, int tasks) const {
  if (!openMP)
    return kernel(buffers, 0, units);
  Work work{openMP, kernel, buffers, units};
  openMP->parallel(runShare, &work, unsigned(tasks < count ? tasks : count), 0);
}

int ThreadPool::workerIndex() { return currentWorker; }

} // namespace halfstep::runtime

//===- kernels.cpp - What the runtime adds to a step, and what each entry of one costs --------===//
//
// Without arguments: the walk over a table and the hand-over to a second thread, measured with
// kernels that do nothing. With a training executable or shared object as argument: its programs
// `micro` and `update` as well, and each entry of them alone, on one thread, with zero weights.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/CpuBackend.h"
#include "runtime/Error.h"
#include "runtime/Payload.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

using namespace halfstep::runtime;

using SharedArtefact = std::shared_ptr<const Artefact>;

namespace {

void doNothing(void *const *, int64_t, int64_t) {}

/// Walks a table of `range(0)` launches; each has two units, so that two threads share it.
void walkTable(benchmark::State &state, int threads) {
  static const hs_launch launch = {doNothing, 2, 1};
  std::vector<hs_entry> entries(state.range(0), {HS_LAUNCH, 0, nullptr, &launch, "nothing", ""});
  hs_artefact artefact = {};
  artefact.programs[HS_MICRO] = {entries.size(), entries.data()};
  CpuBackend backend("empty kernels", artefact, threads);
  for (auto _ : state)
    backend.run(HS_MICRO);
  state.counters["entry"] =
      benchmark::Counter(double(entries.size()), benchmark::Counter::kIsIterationInvariantRate |
                                                     benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(walkTable, oneThread, 1)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK_CAPTURE(walkTable, twoThreads, 2)->Arg(16)->UseRealTime();

/// Runs entries of an artefact, in the place of its `infer`, after one step: memory never written
/// would be one page of zeros in the cache.
void runEntries(benchmark::State &state, const SharedArtefact &artefact, hs_program entries) {
  hs_artefact tables = artefact->tables();
  tables.programs[HS_INFER] = entries;
  CpuBackend backend(artefact->name(), tables, 1);

  std::vector<std::vector<char>> inputs;
  for (uint32_t i = 0; i < tables.input_count; ++i) {
    inputs.emplace_back(tables.inputs[i].slice.bytes);
    backend.bindInput(i, inputs.back().data());
  }
  for (hs_program_kind kind : {HS_INIT, HS_MICRO, HS_UPDATE})
    backend.run(kind);
  for (auto _ : state)
    backend.run(HS_INFER);
}

void registerProgram(const SharedArtefact &artefact, const std::string &name,
                     const hs_program &program) {
  benchmark::RegisterBenchmark(name.c_str(), runEntries, artefact, program);
  for (uint64_t i = 0; i < program.entry_count; ++i) {
    const hs_entry *entry = program.entries + i;
    std::string title = name + "/" + std::to_string(i) + "/" + entry->name;
    benchmark::RegisterBenchmark(title.c_str(), runEntries, artefact, hs_program{1, entry});
  }
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  try {
    if (argc > 1) {
      SharedArtefact artefact = Payload::open(argv[1]).artefact;
      registerProgram(artefact, "micro", artefact->tables().programs[HS_MICRO]);
      registerProgram(artefact, "update", artefact->tables().programs[HS_UPDATE]);
    }
    benchmark::RunSpecifiedBenchmarks();
  } catch (const Error &error) {
    std::fprintf(stderr, "halfstep: error: %s\n", error.what());
    return 1;
  }
  return 0;
}

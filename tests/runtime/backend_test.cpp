//===- backend_test.cpp - Walking tables on one and several threads ---------------------------===//

#include "Models.h"

#include "runtime/CpuBackend.h"
#include "runtime/Scratch.h"

#include <atomic>
#include <set>
#include <thread>

using namespace halfstep::runtime;

namespace {

//===------------------------------------------------------------------------------------------===//
// The thread pool
//===------------------------------------------------------------------------------------------===//

// Counts visits of each unit in buffer 0 and notes ranges in buffer 1.
struct Ranges {
  std::atomic<int> count{0};
  std::set<int> workers;
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
};

void countVisits(void *const *buffers, int64_t lo, int64_t hi) {
  auto *visits = static_cast<int *>(buffers[0]);
  auto *ranges = static_cast<Ranges *>(buffers[1]);
  for (int64_t i = lo; i < hi; ++i)
    ++visits[i];
  ++ranges->count;
  while (ranges->lock.test_and_set()) {
  }
  ranges->workers.insert(ThreadPool::workerIndex());
  ranges->lock.clear();
}

TEST(ThreadPool, CoversEveryUnitOnce) {
  for (int threads : {1, 2, 3, 4})
    for (int64_t units : {1, 2, 3, 5, 64, 1000, 1001}) {
      ThreadPool pool(threads);
      pool.start();
      std::vector<int> visits(size_t(units), 0);
      Ranges ranges;
      void *buffers[] = {visits.data(), &ranges};
      pool.run(countVisits, buffers, units, threads);
      EXPECT_EQ(visits, std::vector<int>(size_t(units), 1)) << threads << " threads";
      EXPECT_EQ(ranges.count, threads);
      EXPECT_EQ(*ranges.workers.rbegin(), threads - 1);
    }
  EXPECT_EQ(ThreadPool::workerIndex(), 0);
}

TEST(ThreadPool, RunsOnTheCallerUntilItIsStarted) {
  std::vector<int> visits(10, 0);
  Ranges ranges;
  void *buffers[] = {visits.data(), &ranges};
  ThreadPool(4).run(countVisits, buffers, 10, 4);
  EXPECT_EQ(visits, std::vector<int>(10, 1));
  EXPECT_EQ(ranges.count, 1);
}

TEST(ThreadPool, ServesTwoHostsAtOnce) {
  auto work = [] {
    ThreadPool pool(2);
    pool.start();
    for (int i = 0; i < 200; ++i) {
      std::vector<int> visits(100, 0);
      Ranges ranges;
      void *buffers[] = {visits.data(), &ranges};
      pool.run(countVisits, buffers, 100, 2);
      ASSERT_EQ(visits, std::vector<int>(100, 1));
    }
  };
  std::thread other(work);
  work();
  other.join();
}

//===------------------------------------------------------------------------------------------===//
// Tables
//===------------------------------------------------------------------------------------------===//

// An artefact of one program, over 4 KiB of state and of arena and one input of 256 bytes.
struct Table {
  std::vector<hs_entry> entries;
  hs_tensor input{};
  hs_artefact artefact{};

  Table() {
    input.name = "x";
    input.slice = {HS_BUFFER_INPUTS, 0, 256};
    artefact.input_count = 1;
    artefact.inputs = &input;
    artefact.state_bytes = artefact.arena_bytes = 4096;
  }

  void add(hs_entry_kind kind, const std::vector<hs_slice> &slices, const void *detail = nullptr) {
    entries.push_back(
        {uint32_t(kind), uint32_t(slices.size()), slices.data(), detail, "entry", "", nullptr});
  }

  CpuBackend backend(int threads = 1) {
    artefact.programs[HS_MICRO] = {entries.size(), entries.data()};
    return CpuBackend("test", artefact, threads);
  }
};

const hs_slice stateWord = {HS_BUFFER_STATE, 64, 8}, arenaWord = {HS_BUFFER_ARENA, 128, 8},
               inputWord = {HS_BUFFER_INPUTS, 16, 8};

// buffer 0 = 10 * buffer 0 + buffer 1
void appendDigit(void *const *buffers, int64_t, int64_t) {
  auto *target = static_cast<int64_t *>(buffers[0]);
  *target = 10 * *target + *static_cast<const int64_t *>(buffers[1]);
}

TEST(CpuBackend, RunsEntriesInOrderAndRebindsInputs) {
  Table table;
  const hs_launch launch = {appendDigit, 1, 1};
  const std::vector<hs_slice> copy = {arenaWord, inputWord}, append = {stateWord, arenaWord},
                              appendInput = {stateWord, inputWord};
  table.add(HS_COPY, copy);
  table.add(HS_LAUNCH, append, &launch);
  table.add(HS_LAUNCH, appendInput, &launch);
  CpuBackend backend = table.backend();

  int64_t first[32] = {0, 0, 3}, second[32] = {0, 0, 7};
  backend.bindInput(0, first);
  backend.run(HS_MICRO);
  backend.bindInput(0, second);
  backend.run(HS_MICRO);
  EXPECT_EQ(*static_cast<const int64_t *>(backend.view(stateWord)), 3377);
  backend.run(HS_UPDATE); // empty
  backend.clearState();
  EXPECT_EQ(*static_cast<const int64_t *>(backend.view(stateWord)), 0);
}

TEST(CpuBackend, AsksForInputsThatAProgramReads) {
  Table table;
  const std::vector<hs_slice> copy = {arenaWord, inputWord};
  table.add(HS_COPY, copy);
  table.add(HS_COPY, copy);
  CpuBackend backend = table.backend();
  backend.run(HS_UPDATE);
  EXPECT_ERROR(backend.run(HS_MICRO), "test: input 'x' has no data");
  int64_t data[32] = {};
  backend.bindInput(0, data);
  backend.bindInput(0, data);
  backend.run(HS_MICRO);
}

TEST(CpuBackend, RefusesSlicesOutsideTheirBuffer) {
  for (hs_slice slice :
       {hs_slice{HS_BUFFER_STATE, 4096, 8}, hs_slice{HS_BUFFER_ARENA, 0, 4097},
        hs_slice{HS_BUFFER_STATE, UINT64_MAX, 8}, hs_slice{HS_BUFFER_INPUTS, 252, 8},
        hs_slice{HS_BUFFER_INPUTS + 1, 0, 8}}) {
    Table table;
    const std::vector<hs_slice> fill = {slice};
    table.add(HS_FILL, fill);
    EXPECT_ERROR(table.backend(), "entry 'entry' reaches outside its buffer");
  }
  Table table;
  const std::vector<hs_slice> none;
  table.add(hs_entry_kind(99), none);
  EXPECT_ERROR(table.backend(), "entry 'entry' is of an unknown kind");
}

TEST(CpuBackend, RefusesOtherScratchMemoryThanItsEntriesNeed) {
  hs_window window{{1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, {1, 1, 6}, {1, 1, 6}};
  const hs_conv conv{HS_CONV_FORWARD, HS_F64, HS_F64, HS_F64, 0, 1, 1, 1, 1, 1, window};
  const std::vector<hs_slice> slices = {
      {HS_BUFFER_STATE, 0, 48}, {HS_BUFFER_STATE, 64, 24}, {HS_BUFFER_ARENA, 0, 48}};
  Table table;
  table.add(HS_CONV, slices, &conv);
  const uint64_t needed = scratchBytes(HS_CONV, &conv);
  EXPECT_EQ(needed, 4096u); // 18 numbers of patches
  for (uint64_t planned : {uint64_t(0), needed - 1, needed + 4096}) {
    table.artefact.scratch_bytes = planned;
    EXPECT_ERROR(table.backend(), "test: the plan has " + std::to_string(planned) +
                                      " bytes of scratch memory for each thread, its entries "
                                      "need 4096");
  }
  table.artefact.scratch_bytes = needed;
  table.backend().run(HS_MICRO);
}

TEST(CpuBackend, CopiesAndFillsAnySizeOnAnyThreads) {
  for (uint64_t bytes : {uint64_t(1), uint64_t(4096), uint64_t(1000003)})
    for (int threads : {1, 2, 3}) {
      Table table;
      const hs_slice source = {HS_BUFFER_STATE, 0, bytes}, target = {HS_BUFFER_ARENA, 64, bytes};
      const std::vector<hs_slice> copy = {target, source}, fill = {source};
      table.artefact.state_bytes = table.artefact.arena_bytes = bytes + 128;
      table.add(HS_COPY, copy);
      table.add(HS_FILL, fill);
      CpuBackend backend = table.backend(threads);
      char *in = backend.address(source), *out = backend.address(target) - 64;
      for (uint64_t i = 0; i < bytes + 128; ++i)
        in[i] = char(i * 7 + 1);
      backend.run(HS_MICRO);
      for (uint64_t i = 0; i < bytes + 128; ++i) {
        bool isInside = i >= 64 && i < 64 + bytes;
        ASSERT_EQ(out[i], isInside ? char((i - 64) * 7 + 1) : 0) << i;
        ASSERT_EQ(in[i], i < bytes ? 0 : char(i * 7 + 1)) << i;
      }
    }
}

TEST(CpuBackend, SharesOnlyWorkThatIsWorthIt) {
  for (int64_t units : {1, 7, 8, 100}) {
    Table table;
    const hs_launch launch = {countVisits, units, 4};
    const hs_slice visits = {HS_BUFFER_STATE, 0, 4096}, notes = {HS_BUFFER_INPUTS, 0, 256};
    const std::vector<hs_slice> slices = {visits, notes};
    table.add(HS_LAUNCH, slices, &launch);
    CpuBackend backend = table.backend(2);
    Ranges ranges;
    backend.bindInput(0, &ranges);
    backend.run(HS_MICRO);
    EXPECT_EQ(ranges.count, units >= 8 ? 2 : 1) << units;
  }
}

} // namespace

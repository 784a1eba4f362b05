//===- emulated_streams_test.cpp - The order of work on an emulated device --------------------===//
//
// Each way of ordering work is left out once: what is said then, and that it is said for any seed.
//
//===------------------------------------------------------------------------------------------===//

#include "EmulatedCudaTest.h"

#include "runtime/emulator/AccessHistory.h"

#include <thread>

using namespace halfstep::tests;

namespace {

constexpr unsigned blockSize = 64;
constexpr size_t bytes = blockSize * sizeof(float);

void addOne(void *const *parameters, hs_emulated_thread *self) {
  const float *x = static_cast<const float *>(parameters[0]);
  store(self, static_cast<float *>(parameters[1]) + self->thread, load(self, x + self->thread) + 1);
}

class Order : public EmulatedCudaTest {
protected:
  Order() : EmulatedCudaTest({{"add_one", addOne, 0, nullptr, nullptr}}) { start(1); }

  void start(uint64_t seed) {
    restart(seed);
    compute = createStream();
    copies = createStream();
    event = createEvent();
    function = loadFunction("add_one", 2);
    x = upload(std::vector<float>(blockSize, 1.0f));
    y = upload(std::vector<float>(blockSize, 0.0f));
    host = allocatePinned(blockSize);
    std::fill_n(host, blockSize, 5.0f);
  }
  void add(const float *from, float *to, Stream stream) {
    ASSERT_EQ(launch(function, 1, blockSize, {from, to}, stream), success);
  }
  void toDevice(float *target, const float *source, Stream stream) {
    ASSERT_EQ(driver.cuMemcpyHtoDAsync(at(target), source, bytes, stream), success);
  }
  void toHost(float *target, const float *source, Stream stream) {
    ASSERT_EQ(driver.cuMemcpyDtoHAsync(target, at(source), bytes, stream), success);
  }
  void record(Stream stream) { ASSERT_EQ(driver.cuEventRecord(event, stream), success); }
  void wait(Stream stream) { ASSERT_EQ(driver.cuStreamWaitEvent(stream, event, 0), success); }
  void synchronise(Stream stream) { ASSERT_EQ(driver.cuStreamSynchronize(stream), success); }

  Stream compute, copies;
  Event event;
  Function function;
  float *x, *y, *host;
};

/// Calls `body` for several seeds, each on a fresh device.
#define FOR_EACH_SEED                                                                              \
  for (uint64_t seed = 0; seed < 16; ++seed)                                                       \
    if (SCOPED_TRACE(seed); start(seed), true)

TEST_F(Order, RunsNothingBeforeTheHostWaits) {
  toHost(host, x, compute);
  EXPECT_TRUE(host[0] != host[0]); // poison
  synchronise(copies);
  synchronise(compute);
  EXPECT_EQ(host[0], 1.0f);
}

TEST_F(Order, RunsNowAndThenWhatNobodyWaitsFor) {
  int ran = 0;
  FOR_EACH_SEED {
    toHost(host, x, copies);
    for (int i = 0; i < 4; ++i)
      add(x, y, compute);
    synchronise(compute);
    ran += host[0] == 1.0f;
  }
  EXPECT_GT(ran, 0);
  EXPECT_LT(ran, 16);
}

TEST_F(Order, EventsOrderStreams) {
  FOR_EACH_SEED {
    toDevice(x, host, copies);
    record(copies);
    wait(compute);
    add(x, y, compute);
    record(compute);
    wait(copies);
    toHost(host, y, copies);
    synchronise(copies);
    EXPECT_EQ(host[0], 6.0f);
  }
}

TEST_F(Order, MissesAnEventBeforeARead) {
  FOR_EACH_SEED {
    toDevice(x, host, copies);
    record(copies);
    add(x, y, compute);
    EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
                 "no event orders the two");
  }
}

TEST_F(Order, MissesAnEventBeforeAWrite) {
  FOR_EACH_SEED { // the next batch comes while the last one is still read
    add(x, y, compute);
    toDevice(x, host, copies);
    EXPECT_ERROR((driver.cuStreamSynchronize(copies), driver.cuStreamSynchronize(compute)),
                 "no event orders the two");
  }
}

TEST_F(Order, RecordsAnEventTooEarly) {
  FOR_EACH_SEED {
    record(copies);
    toDevice(x, host, copies);
    wait(compute);
    add(x, y, compute);
    EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
                 "no event orders the two");
  }
}

TEST_F(Order, MayReadInTwoStreamsAtOnce) {
  FOR_EACH_SEED {
    float *other = allocate(blockSize);
    add(x, y, compute);
    ASSERT_EQ(driver.cuMemcpyDtoDAsync(at(other), at(x), bytes, copies), success);
    synchronise(compute);
    synchronise(copies);
    EXPECT_EQ(download(other, blockSize, copies)[7], 1.0f);
  }
}

TEST_F(Order, MayUsePartsOfAnAllocationAtOnce) {
  float *both = upload(std::vector<float>(2 * blockSize, 1.0f));
  toDevice(both, host, copies);
  add(both + blockSize, y, compute);
  synchronise(compute);
  synchronise(copies);
  toDevice(both + blockSize - 1, host, copies); // one element too far
  add(both + blockSize, y, compute);
  EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
               "no event orders the two");
}

TEST_F(Order, WaitingHostOrdersStreams) {
  FOR_EACH_SEED {
    toDevice(x, host, copies);
    record(copies);
    ASSERT_EQ(driver.cuEventSynchronize(event), success);
    add(x, y, compute);
    synchronise(compute);
    EXPECT_EQ(download(y, blockSize, compute)[0], 6.0f);
  }
}

TEST_F(Order, WaitsForTheEventAsItWasRecordedThen) {
  FOR_EACH_SEED {
    toDevice(x, host, copies);
    record(copies);
    wait(compute);
    record(compute); // does not change what was waited for
    add(x, y, compute);
    synchronise(compute);
    EXPECT_EQ(download(y, blockSize, compute)[0], 6.0f);
  }
}

TEST_F(Order, DefaultStreamOrdersBlockingOnes) {
  FOR_EACH_SEED {
    Stream blocking = nullptr;
    ASSERT_EQ(driver.cuStreamCreate(&blocking, 0), success);
    toDevice(x, host, blocking);
    add(x, y, nullptr);
    toHost(host, y, blocking);
    synchronise(blocking);
    EXPECT_EQ(host[0], 6.0f);
    add(x, y, nullptr);
    toHost(host, y, copies); // which is none
    EXPECT_ERROR((driver.cuStreamSynchronize(copies), driver.cuStreamSynchronize(nullptr)),
                 "no event orders the two");
  }
}

TEST_F(Order, NoticesASourceThatTheHostChanges) {
  toDevice(x, host, copies);
  host[3] = 0;
  EXPECT_ERROR(driver.cuStreamSynchronize(copies), "the host changed its source");
}

TEST_F(Order, PageableSourcesAreReadAtOnce) {
  std::vector<float> pageable(blockSize, 9.0f);
  toDevice(x, pageable.data(), copies);
  pageable[0] = 0;
  synchronise(copies);
  EXPECT_EQ(download(x, blockSize, copies)[0], 9.0f);
}

TEST_F(Order, NoticesATargetThatTheHostChanges) {
  toHost(host, x, copies);
  host[3] = 0;
  EXPECT_ERROR(driver.cuStreamSynchronize(copies), "the host wrote to its target");
}

TEST_F(Order, CopiesToOneTargetOneAfterTheOther) {
  toHost(host, x, compute);
  add(x, y, compute);
  toHost(host, y, compute);
  synchronise(compute);
  EXPECT_EQ(host[0], 2.0f);
}

TEST_F(Order, CopiesToAndFromOneHostBufferInTwoStreams) {
  FOR_EACH_SEED {
    toDevice(x, host, copies);
    float *other = allocatePinned(blockSize);
    toHost(other, y, compute);
    toHost(other, x, copies);
    EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
                 "no event orders the two");
  }
}

TEST_F(Order, ReadsAndWritesOneHostBufferInTwoStreams) {
  FOR_EACH_SEED {
    toDevice(x, host, copies);
    toHost(host, y, compute);
    EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
                 "no event orders the two");
  }
}

TEST_F(Order, CopiesOnTheDeviceAreOrderedToo) {
  FOR_EACH_SEED { // one writes what the kernel reads
    ASSERT_EQ(driver.cuMemcpyDtoDAsync(at(x), at(y), bytes, copies), success);
    float *z = allocate(blockSize);
    add(x, z, compute);
    EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
                 "no event orders the two");
  }
  FOR_EACH_SEED { // and one reads what it writes
    float *z = allocate(blockSize);
    ASSERT_EQ(driver.cuMemcpyDtoDAsync(at(z), at(y), bytes, copies), success);
    add(x, y, compute);
    EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
                 "no event orders the two");
  }
}

TEST_F(Order, CopiesFromWhereItCopiedTo) {
  toHost(host, x, compute);
  toDevice(y, host, compute);
  synchronise(compute);
  EXPECT_EQ(download(y, blockSize, compute)[0], 1.0f);
  toHost(host, y, compute);
  EXPECT_TRUE(host[0] != host[0]); // no copy is to read it any more
}

TEST_F(Order, PageLockedMemoryIsUndefinedAtFirst) {
  float *fresh = allocatePinned(4);
  EXPECT_TRUE(fresh[3] != fresh[3]);
}

TEST_F(Order, CopiesWhatWasNeverWritten) {
  float *fresh = allocate(blockSize), *second = allocate(blockSize);
  ASSERT_EQ(driver.cuMemsetD8Async(at(fresh), 0, bytes - 1, compute), success);
  ASSERT_EQ(driver.cuMemcpyDtoDAsync(at(second), at(fresh), bytes, compute), success);
  synchronise(compute);
  toHost(host, second, compute);
  EXPECT_ERROR(driver.cuStreamSynchronize(compute),
               "copy to the host: its load of 256 bytes reads byte 255 of its allocation");
}

TEST_F(Order, CopiesOntoItself) {
  float *both = upload(std::vector<float>(2 * blockSize, 1.0f));
  ASSERT_EQ(driver.cuMemcpyDtoDAsync(at(both + 1), at(both), bytes, compute), success);
  EXPECT_ERROR(driver.cuStreamSynchronize(compute), "its source and target overlap");
}

TEST_F(Order, FreeingWaitsForAllWork) {
  float *z = allocate(blockSize);
  add(x, z, compute);
  record(compute);
  wait(copies);
  toHost(host, z, copies);
  EXPECT_EQ(driver.cuMemFree(at(z)), success);
  EXPECT_EQ(host[0], 2.0f);
}

TEST_F(Order, FreeingPageLockedMemoryWaitsToo) {
  toDevice(x, host, copies);
  EXPECT_EQ(driver.cuMemFreeHost(host), success);
  EXPECT_EQ(download(x, blockSize, copies)[0], 5.0f);
}

TEST_F(Order, WorkOutlivesItsStream) {
  add(x, y, compute);
  record(compute);
  ASSERT_EQ(driver.cuStreamDestroy(compute), success);
  wait(copies);
  toHost(host, y, copies);
  synchronise(copies);
  EXPECT_EQ(host[0], 2.0f);
}

//===------------------------------------------------------------------------------------------===//
// What is known of ranges
//===------------------------------------------------------------------------------------------===//

/// The number-th operation of a stream, after nothing of the other.
Moment alone(uint32_t stream, uint64_t number) {
  Clock before(3);
  before[stream] = number - 1;
  return {stream, number, before};
}

TEST(History, KeepsTheRestOfARange) {
  for (uintptr_t place : {0, 40, 90}) { // of what is written anew, as long as 10
    AccessHistory history;
    history.note(0, 100, true, "first", alone(1, 1));
    Moment after = alone(2, 1);
    after.before[1] = 1;
    history.note(place, place + 10, true, "second", after);
    history.note(place, place + 10, false, "third", alone(2, 2));
    EXPECT_ERROR(history.note(place, place + 10, false, "third", alone(1, 2)), "second");
    if (place > 0)
      EXPECT_ERROR(history.note(place - 1, place, false, "third", alone(2, 2)), "first");
    if (place < 90)
      EXPECT_ERROR(history.note(place + 10, place + 11, false, "third", alone(2, 2)), "first");
  }
}

TEST(History, KnowsReadersOfWhatNobodyWrote) {
  AccessHistory history;
  history.note(10, 20, true, "writer", alone(1, 1));
  history.note(0, 30, false, "reader", alone(1, 2));
  Moment after = alone(2, 1);
  after.before[1] = 1; // of the writer
  for (uintptr_t at : {0, 9, 10, 19, 20, 29})
    EXPECT_ERROR(history.note(at, at + 1, true, "other", after), "that reader uses");
  history.note(30, 31, true, "other", alone(2, 1));
}

TEST(History, Forgets) {
  AccessHistory history;
  history.note(0, 30, true, "writer", alone(1, 1));
  history.forget(10, 20);
  history.note(10, 20, true, "other", alone(2, 1));
  EXPECT_ERROR(history.note(9, 10, true, "other", alone(2, 1)), "writer");
  EXPECT_ERROR(history.note(20, 21, true, "other", alone(2, 1)), "writer");
}

//===------------------------------------------------------------------------------------------===//
// Graphs
//===------------------------------------------------------------------------------------------===//

class Capture : public Order {
protected:
  void begin() { ASSERT_EQ(driver.cuStreamBeginCapture(compute, captureThreadLocal), success); }
  Result end(Graph *graph) { return driver.cuStreamEndCapture(compute, graph); }
  GraphExec instantiate(Graph graph) {
    GraphExec exec = nullptr;
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), success);
    return exec;
  }
};

TEST_F(Capture, RunsAtEachLaunchAndOnlyThen) {
  Graph graph = nullptr;
  begin();
  add(x, y, compute);
  ASSERT_EQ(driver.cuMemcpyDtoDAsync(at(x), at(y), bytes, compute), success);
  toHost(host, x, compute);
  EXPECT_EQ(host[0], 5.0f);
  ASSERT_EQ(end(&graph), success);
  GraphExec exec = instantiate(graph);
  EXPECT_EQ(driver.cuGraphDestroy(graph), success);
  EXPECT_EQ(driver.cuGraphDestroy(graph), errorInvalidHandle);
  synchronise(compute);
  EXPECT_EQ(host[0], 5.0f);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(driver.cuGraphLaunch(exec, compute), success);
  EXPECT_TRUE(host[0] != host[0]);
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), success);
  EXPECT_EQ(driver.cuGraphLaunch(exec, compute), errorInvalidHandle);
  synchronise(compute);
  EXPECT_EQ(host[0], 4.0f);
}

TEST_F(Capture, LaunchesAreOrderedByEventsToo) {
  FOR_EACH_SEED {
    Graph graph = nullptr;
    begin();
    add(x, y, compute);
    ASSERT_EQ(end(&graph), success);
    GraphExec exec = instantiate(graph);
    toDevice(x, host, copies);
    ASSERT_EQ(driver.cuGraphLaunch(exec, compute), success);
    EXPECT_ERROR((driver.cuStreamSynchronize(compute), driver.cuStreamSynchronize(copies)),
                 "no event orders the two");
  }
}

TEST_F(Capture, DoesNotLetTheHostWait) {
  Graph graph = nullptr;
  begin();
  EXPECT_EQ(driver.cuStreamSynchronize(compute), errorStreamCaptureUnsupported);
  EXPECT_EQ(launch(function, 1, blockSize, {x, y}, compute), errorStreamCaptureInvalidated);
  EXPECT_EQ(driver.cuEventRecord(event, compute), errorStreamCaptureInvalidated);
  EXPECT_EQ(end(&graph), errorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  add(x, y, compute); // the stream is as before
  synchronise(compute);
}

TEST_F(Capture, DoesNotAllocate) {
  auto isRefused = [&](auto call) {
    Graph graph = nullptr;
    begin();
    EXPECT_EQ(call(), errorStreamCaptureUnsupported);
    EXPECT_EQ(end(&graph), errorStreamCaptureInvalidated);
  };
  Address address = 0;
  void *pinned = nullptr;
  Module module = nullptr;
  isRefused([&] { return driver.cuMemAlloc(&address, 4); });
  isRefused([&] { return driver.cuMemFree(at(x)); });
  isRefused([&] { return driver.cuMemHostAlloc(&pinned, 4, 0); });
  isRefused([&] { return driver.cuMemFreeHost(host); });
  isRefused([&] { return driver.cuModuleLoadDataEx(&module, "", 0, nullptr, nullptr); });
  isRefused([&] { return driver.cuStreamDestroy(compute); });
  std::vector<float> pageable(blockSize);
  isRefused([&] { return driver.cuMemcpyHtoDAsync(at(x), pageable.data(), bytes, compute); });
  isRefused([&] { return driver.cuMemcpyDtoHAsync(pageable.data(), at(x), bytes, compute); });
  begin();
  std::thread([&] { // another thread may
    EXPECT_EQ(driver.cuMemAlloc(&address, 4), errorInvalidContext);
  })
      .join();
  Graph graph = nullptr;
  EXPECT_EQ(end(&graph), success);
}

TEST_F(Capture, IsOfOneStream) {
  Graph graph = nullptr;
  record(copies);
  begin();
  EXPECT_EQ(driver.cuStreamWaitEvent(compute, event, 0), errorStreamCaptureIsolation);
  EXPECT_EQ(end(&graph), errorStreamCaptureInvalidated);
  begin();
  record(compute);
  wait(compute); // its own
  EXPECT_EQ(driver.cuStreamWaitEvent(copies, event, 0), errorStreamCaptureIsolation);
  EXPECT_EQ(end(&graph), success);
  EXPECT_EQ(driver.cuEventSynchronize(event), errorCapturedEvent);
}

TEST_F(Capture, DoesNotMeetTheDefaultStream) {
  Graph graph = nullptr;
  EXPECT_EQ(driver.cuStreamBeginCapture(nullptr, captureThreadLocal),
            errorStreamCaptureUnsupported);
  Stream blocking = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&blocking, 0), success);
  ASSERT_EQ(driver.cuStreamBeginCapture(blocking, captureThreadLocal), success);
  EXPECT_EQ(launch(function, 1, blockSize, {x, y}, nullptr), errorStreamCaptureImplicit);
  EXPECT_EQ(driver.cuStreamEndCapture(blocking, &graph), errorStreamCaptureInvalidated);
}

TEST_F(Capture, BeginsAndEndsOnce) {
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  EXPECT_EQ(driver.cuStreamBeginCapture(compute, 7), errorInvalidValue);
  EXPECT_EQ(end(&graph), errorIllegalState);
  begin();
  EXPECT_EQ(driver.cuStreamBeginCapture(compute, captureThreadLocal), errorIllegalState);
  EXPECT_EQ(end(nullptr), errorInvalidValue);
  EXPECT_EQ(end(&graph), success);
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 1), errorInvalidValue);
  exec = instantiate(graph);
  begin();
  EXPECT_EQ(driver.cuGraphLaunch(exec, compute), errorStreamCaptureUnsupported);
  EXPECT_EQ(end(&graph), errorStreamCaptureInvalidated);
}

TEST_F(Capture, ReplaysOnlyWhatIsStillThere) {
  float *z = upload(std::vector<float>(blockSize, 1.0f));
  Graph graph = nullptr;
  begin();
  ASSERT_EQ(driver.cuMemcpyDtoDAsync(at(y), at(z), bytes, compute), success);
  ASSERT_EQ(end(&graph), success);
  GraphExec exec = instantiate(graph);
  ASSERT_EQ(driver.cuMemFree(at(z)), success);
  ASSERT_EQ(driver.cuGraphLaunch(exec, compute), success);
  EXPECT_ERROR(driver.cuStreamSynchronize(compute), "its source or target was freed");
  start(1);
  begin();
  toHost(host, x, compute);
  ASSERT_EQ(end(&graph), success);
  exec = instantiate(graph);
  ASSERT_EQ(driver.cuMemFreeHost(host), success);
  EXPECT_ERROR(driver.cuGraphLaunch(exec, compute), "its target was freed");
  start(1);
  begin();
  toDevice(x, host, compute);
  ASSERT_EQ(end(&graph), success);
  exec = instantiate(graph);
  ASSERT_EQ(driver.cuMemFreeHost(host), success);
  EXPECT_ERROR(driver.cuGraphLaunch(exec, compute), "its source was freed");
  start(1);
  begin();
  toDevice(x, host, compute);
  ASSERT_EQ(end(&graph), success);
  exec = instantiate(graph);
  ASSERT_EQ(driver.cuMemFree(at(x)), success);
  ASSERT_EQ(driver.cuGraphLaunch(exec, compute), success);
  EXPECT_ERROR(driver.cuStreamSynchronize(compute),
               "copy to the device: its store of 256 bytes is to memory that was freed");
}

} // namespace

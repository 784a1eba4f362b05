//===- emulated_kernel_test.cpp - What the emulator sees inside a launch ----------------------===//
//
// One kernel for each fault, and beside it the kernel without the fault, which has to pass.
//
//===------------------------------------------------------------------------------------------===//

#include "EmulatedCudaTest.h"

#include <numeric>

using namespace halfstep::tests;

namespace {

constexpr unsigned blockSize = 64;

uint32_t indexOf(const hs_emulated_thread *self) { return self->block * blockSize + self->thread; }
float *floats(void *parameter) { return static_cast<float *>(parameter); }

/// y[i] = x[i + shift]
template <int shift> void copyShifted(void *const *parameters, hs_emulated_thread *self) {
  store(self, floats(parameters[1]) + indexOf(self),
        load(self, floats(parameters[0]) + int(indexOf(self)) + shift));
}
/// y[i - 1] = 1
void storePrevious(void *const *parameters, hs_emulated_thread *self) {
  store(self, floats(parameters[0]) + int(indexOf(self)) - 1, 1.0f);
}
void loadUnaligned(void *const *parameters, hs_emulated_thread *self) {
  const char *address = static_cast<const char *>(parameters[0]);
  load(self, reinterpret_cast<const float *>(address + 2));
}
/// All threads of all blocks store to the first element.
void storeToOne(void *const *parameters, hs_emulated_thread *self) {
  if (self->thread == 0)
    store(self, floats(parameters[0]), float(self->block));
}
/// Block 1 reads what block 0 writes.
void readOtherBlock(void *const *parameters, hs_emulated_thread *self) {
  if (self->thread != 0)
    return;
  if (self->block == 0)
    store(self, floats(parameters[0]), 1.0f);
  else
    load(self, floats(parameters[0]));
}
/// The same with all threads of each block at a barrier before.
void readOtherBlockBehindBarrier(void *const *parameters, hs_emulated_thread *self) {
  self->barrier(self);
  readOtherBlock(parameters, self);
}
/// Both blocks read, and behind a barrier one writes.
void overwriteOtherBlocksRead(void *const *parameters, hs_emulated_thread *self) {
  if (self->thread == 0)
    load(self, floats(parameters[0]));
  self->barrier(self);
  if (self->thread == 0 && self->block == 1)
    store(self, floats(parameters[0]), 1.0f);
}
/// y[i] = x[255 - i], through shared memory.
template <bool withBarrier> void reverse(void *const *parameters, hs_emulated_thread *self) {
  float *tile = reinterpret_cast<float *>(self->shared);
  store(self, tile + self->thread, load(self, floats(parameters[0]) + indexOf(self)));
  if (withBarrier)
    self->barrier(self);
  store(self, floats(parameters[1]) + indexOf(self),
        load(self, tile + blockSize - 1 - self->thread));
}
/// The same within warps, whose lanes `members` synchronise.
template <uint32_t members> void reverseWarp(void *const *parameters, hs_emulated_thread *self) {
  float *tile = reinterpret_cast<float *>(self->shared);
  store(self, tile + self->thread, load(self, floats(parameters[0]) + indexOf(self)));
  if (members)
    self->sync(self, members);
  store(self, floats(parameters[1]) + indexOf(self), load(self, tile + (self->thread ^ 31)));
}
/// The second warp reads what the first wrote; each is synchronised, for itself.
void exchangeWarps(void *const *, hs_emulated_thread *self) {
  float *tile = reinterpret_cast<float *>(self->shared);
  store(self, tile + self->thread, 1.0f);
  self->barrier(self);
  if (self->thread < 32)
    store(self, tile + self->thread, 2.0f);
  self->sync(self, ~uint32_t(0));
  if (self->thread >= 32)
    load(self, tile + self->thread - 32);
}
/// Overwrites what other lanes have read, with or without a barrier between.
template <bool withBarrier> void overwriteRead(void *const *parameters, hs_emulated_thread *self) {
  float *tile = reinterpret_cast<float *>(self->shared);
  store(self, tile + self->thread, load(self, floats(parameters[0]) + indexOf(self)));
  self->barrier(self);
  float value = load(self, tile);
  if (withBarrier)
    self->barrier(self);
  if (self->thread == 5)
    store(self, tile, value + 1);
}
/// The same of what the lanes of a warp have read, one of them twice; `members` synchronise.
template <uint32_t members>
void overwriteReadOfWarp(void *const *parameters, hs_emulated_thread *self) {
  float *tile = reinterpret_cast<float *>(self->shared);
  float *first = tile + self->thread / 32 * 32;
  store(self, tile + self->thread, load(self, floats(parameters[0]) + indexOf(self)));
  self->barrier(self);
  float value = load(self, first);
  if (members)
    self->sync(self, members);
  if (self->thread % 32 == 5)
    store(self, first, value + load(self, first));
}
/// Half of the threads come to a barrier.
void divergeAtBarrier(void *const *, hs_emulated_thread *self) {
  if (self->thread < blockSize / 2)
    self->barrier(self);
}
void sumLanes(void *const *parameters, hs_emulated_thread *self) {
  float value = load(self, floats(parameters[0]) + indexOf(self));
  for (uint32_t mask = 16; mask; mask /= 2) {
    uint32_t bits, other;
    std::memcpy(&bits, &value, 4);
    other = self->exchange(self, ~uint32_t(0), bits, mask);
    float given;
    std::memcpy(&given, &other, 4);
    value += given;
  }
  if (self->thread % 32 == 0)
    store(self, floats(parameters[1]) + indexOf(self) / 32, value);
}
void divergeAtExchange(void *const *, hs_emulated_thread *self) {
  if (self->thread % 2)
    self->exchange(self, ~uint32_t(0), 0, 1);
}
void askStranger(void *const *, hs_emulated_thread *self) {
  if (self->thread < 4)
    self->exchange(self, 15, 0, 4);
}
void askOtherWarp(void *const *, hs_emulated_thread *self) {
  self->exchange(self, ~uint32_t(0), 0, 32);
}
void exchangeWithoutItself(void *const *, hs_emulated_thread *self) {
  if (self->thread < 2) // lane 1 is the only member, and gives its value to lane 0
    self->exchange(self, 2, 0, self->thread == 0);
}
void readUnwrittenShared(void *const *, hs_emulated_thread *self) {
  load(self, reinterpret_cast<const float *>(self->shared));
}
void readSharedOfOtherBlock(void *const *, hs_emulated_thread *self) {
  float *value = reinterpret_cast<float *>(self->shared);
  if (self->block == 0)
    store(self, value + self->thread, 1.0f);
  load(self, value + self->thread);
}
void exceedShared(void *const *, hs_emulated_thread *self) {
  store(self, reinterpret_cast<float *>(self->shared) + blockSize + self->thread, 1.0f);
}
/// Writes where 64 KiB of the stack would end.
void useMuchStack(void *const *, hs_emulated_thread *self) {
  if (self->thread == 1)
    std::memset(static_cast<char *>(__builtin_frame_address(0)) - (64 << 10), 0, 2 << 10);
}
/// Pairs of bytes, of which each thread owns one.
void storeBytes(void *const *parameters, hs_emulated_thread *self) {
  char *bytes = static_cast<char *>(parameters[0]);
  store(self, bytes + indexOf(self), char(self->thread));
}
/// 16 bytes by one thread, then 4 bytes of them by others.
template <bool withBarrier> void splitVector(void *const *parameters, hs_emulated_thread *self) {
  float *y = floats(parameters[0]);
  if (self->thread == 0)
    self->access(self, y, 16, 16, 1);
  if (withBarrier)
    self->barrier(self);
  if (self->thread == 3)
    store(self, y + 3, 1.0f);
}
/// Three elements from one that is no multiple of 16 bytes: across a page of the marks.
void storeAcrossPage(void *const *parameters, hs_emulated_thread *self) {
  char *bytes = static_cast<char *>(parameters[0]);
  auto page = (reinterpret_cast<uintptr_t>(bytes) / 4096 + 1) * 4096;
  if (self->thread == 0)
    self->access(self, reinterpret_cast<char *>(page) - 4, 8, 4, 1);
  else if (self->thread == 1)
    load(self, reinterpret_cast<const float *>(page));
}

// Of the parameters of "copy_given" and "copy_next_given".
constexpr uint64_t given[] = {64 * sizeof(float), 64 * sizeof(float)};
constexpr uint64_t tile = blockSize * sizeof(float);

class Kernel : public EmulatedCudaTest {
protected:
  Kernel()
      : EmulatedCudaTest(
            {{"copy", copyShifted<0>, 0, "Relu_7, Add_8", nullptr},
             {"copy_next", copyShifted<1>, 0, "Relu_7, Add_8", nullptr},
             {"copy_given", copyShifted<0>, 0, nullptr, given},
             {"copy_next_given", copyShifted<1>, 0, nullptr, given},
             {"copy_previous", copyShifted<-1>, 0, nullptr, nullptr},
             {"store_previous", storePrevious, 0, nullptr, nullptr},
             {"load_unaligned", loadUnaligned, 0, nullptr, nullptr},
             {"store_to_one", storeToOne, 0, nullptr, nullptr},
             {"read_other_block", readOtherBlock, 0, nullptr, nullptr},
             {"read_other_block_behind_barrier", readOtherBlockBehindBarrier, 0, nullptr, nullptr},
             {"overwrite_other_blocks_read", overwriteOtherBlocksRead, 0, nullptr, nullptr},
             {"exchange_warps", exchangeWarps, tile, nullptr, nullptr},
             {"read_shared_of_other_block", readSharedOfOtherBlock, tile, nullptr, nullptr},
             {"reverse", reverse<true>, tile, nullptr, nullptr},
             {"reverse_racing", reverse<false>, tile, nullptr, nullptr},
             {"reverse_warp", reverseWarp<~uint32_t(0)>, tile, nullptr, nullptr},
             {"reverse_warp_racing", reverseWarp<0>, tile, nullptr, nullptr},
             {"overwrite_read", overwriteRead<true>, tile, nullptr, nullptr},
             {"overwrite_read_racing", overwriteRead<false>, tile, nullptr, nullptr},
             {"overwrite_read_of_warp", overwriteReadOfWarp<~uint32_t(0)>, tile, nullptr, nullptr},
             {"overwrite_read_of_warp_racing", overwriteReadOfWarp<0>, tile, nullptr, nullptr},
             {"diverge_at_barrier", divergeAtBarrier, 0, nullptr, nullptr},
             {"sum_lanes", sumLanes, 0, nullptr, nullptr},
             {"diverge_at_exchange", divergeAtExchange, 0, nullptr, nullptr},
             {"ask_stranger", askStranger, 0, nullptr, nullptr},
             {"ask_other_warp", askOtherWarp, 0, nullptr, nullptr},
             {"exchange_without_itself", exchangeWithoutItself, 0, nullptr, nullptr},
             {"read_unwritten_shared", readUnwrittenShared, tile, nullptr, nullptr},
             {"exceed_shared", exceedShared, tile, nullptr, nullptr},
             {"use_much_stack", useMuchStack, 0, nullptr, nullptr},
             {"store_bytes", storeBytes, 0, nullptr, nullptr},
             {"split_vector", splitVector<true>, 0, nullptr, nullptr},
             {"split_vector_racing", splitVector<false>, 0, nullptr, nullptr},
             {"store_across_page", storeAcrossPage, 0, nullptr, nullptr}}) {}

  /// What is wrong with a launch on `arguments`; "" if nothing is.
  std::string run(const std::string &name, unsigned blocks, std::vector<const void *> arguments) {
    Function function = loadFunction(name, int(arguments.size()));
    EXPECT_EQ(launch(function, blocks, blockSize, std::move(arguments)), success);
    return errorOf([&] { EXPECT_EQ(driver.cuStreamSynchronize(nullptr), success); });
  }
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Kernel, ReadsAndWritesItsOwn) {
  std::vector<float> values(256);
  std::iota(values.begin(), values.end(), 0.0f);
  float *x = upload(values), *y = allocate(256);
  EXPECT_EQ(run("copy", 4, {x, y}), "");
  EXPECT_EQ(download(y, 256, nullptr), values);
}

TEST_F(Kernel, NamesWhatReadsBeyondAnAllocation) {
  float *x = upload(std::vector<float>(256, 1.0f)), *y = allocate(256);
  std::string error = run("copy_next", 4, {x, y});
  EXPECT_TRUE(has(error, "kernel copy_next (Relu_7, Add_8): block 3, thread 63 makes a load of 4 "
                         "bytes at 0x"))
      << error;
  EXPECT_TRUE(has(error, "(parameter 0 + 1024) that is to no device memory")) << error;
}

TEST_F(Kernel, ReadsBeforeAnAllocation) {
  float *x = upload(std::vector<float>(256, 1.0f)), *y = allocate(256);
  std::string error = run("copy_previous", 4, {x, y});
  EXPECT_TRUE(has(error, "block 0, thread 0 makes a load")) << error;
  EXPECT_TRUE(has(error, "(parameter 0 - 4) that is to no device memory")) << error;
}

TEST_F(Kernel, WritesBeforeAnAllocation) {
  std::string error = run("store_previous", 4, {allocate(256)});
  EXPECT_TRUE(has(error, "(parameter 0 - 4) that is to no device memory")) << error;
}

TEST_F(Kernel, WritesBeyondAnAllocation) {
  float *x = upload(std::vector<float>(256, 1.0f)), *y = allocate(255);
  std::string error = run("copy", 4, {x, y});
  EXPECT_TRUE(has(error, "block 3, thread 63 makes a store of 4 bytes")) << error;
  EXPECT_TRUE(has(error, "(parameter 1 + 1020)")) << error;
}

// Within the allocation, but not within what the kernel is given of it.
TEST_F(Kernel, WritesBeyondItsSlice) {
  for (size_t gap : {64, 128, 2048}) { // from one slice to the next, in a page and across
    restart(1);
    float *arena = upload(std::vector<float>(8192, 1.0f));
    EXPECT_EQ(run("copy_given", 1, {arena, arena + gap}), "");
    EXPECT_EQ(run("copy_given", 1, {arena + gap, arena}), "");
    EXPECT_EQ(run("copy_given", 1, {arena + gap, arena + gap}), "");
    std::string error = run("copy_next_given", 1, {arena + gap, arena});
    EXPECT_TRUE(has(error, "(parameter 0 + 256) that is beyond what the kernel was given"))
        << error;
  }
}

TEST_F(Kernel, ReachesAcrossTheEndOfAnAllocation) {
  float *x = upload(std::vector<float>(64, 1.0f));
  char *y = allocate<char>(255);
  EXPECT_TRUE(has(run("copy", 1, {x, y}), "reaches beyond its allocation of 255 bytes"));
}

TEST_F(Kernel, ReadsWhatWasNeverWritten) {
  float *x = allocate(256), *y = allocate(256);
  ASSERT_EQ(driver.cuMemsetD8Async(at(x), 0, 400, nullptr), success);
  std::string error = run("copy", 4, {x, y});
  EXPECT_TRUE(has(error, "never written")) << error;
}

TEST_F(Kernel, ReadsFreedMemory) {
  float *x = upload(std::vector<float>(64, 1.0f)), *y = allocate(64);
  ASSERT_EQ(driver.cuMemFree(at(x)), success);
  EXPECT_TRUE(has(run("copy", 1, {x, y}), "is to memory that was freed"));
}

TEST_F(Kernel, ReadsMemoryOfTheHost) {
  std::vector<float> x(64, 1.0f);
  float *pinned = allocatePinned(64), *y = allocate(64);
  EXPECT_TRUE(has(run("copy", 1, {x.data(), y}), "is to no device memory"));
  restart(1);
  pinned = allocatePinned(64);
  y = allocate(64);
  EXPECT_TRUE(has(run("copy", 1, {pinned, y}), "is to no device memory"));
}

TEST_F(Kernel, ReadsUnaligned) {
  float *x = upload(std::vector<float>(64, 1.0f));
  EXPECT_TRUE(has(run("load_unaligned", 1, {x}), "is not aligned to 4"));
}

TEST_F(Kernel, HasRacesBetweenBlocks) {
  float *y = upload(std::vector<float>(64, 0.0f));
  EXPECT_EQ(run("store_to_one", 1, {y}), "");
  std::string error = run("store_to_one", 2, {y});
  EXPECT_TRUE(has(error, "makes a store") && has(error, "races with block")) << error;
  for (uint64_t seed = 0; seed < 8; ++seed) { // whichever block comes first
    restart(seed);
    y = upload(std::vector<float>(64, 0.0f));
    EXPECT_TRUE(has(run("read_other_block", 2, {y}), "races with block"));
    for (const char *name : {"read_other_block_behind_barrier", "overwrite_other_blocks_read"}) {
      restart(seed);
      y = upload(std::vector<float>(64, 0.0f));
      EXPECT_TRUE(has(run(name, 2, {y}), "races with block")) << name;
    }
  }
}

TEST_F(Kernel, HasRacesWithoutABarrier) {
  std::vector<float> values(256);
  std::iota(values.begin(), values.end(), 0.0f);
  for (const char *name :
       {"reverse", "reverse_warp", "overwrite_read", "overwrite_read_of_warp"}) {
    restart(3);
    float *x = upload(values), *y = allocate(256);
    EXPECT_EQ(run(name, 4, {x, y}), "") << name;
    restart(3);
    x = upload(values);
    y = allocate(256);
    std::string error = run(std::string(name) + "_racing", 4, {x, y});
    EXPECT_TRUE(has(error, "races with block") || has(error, "never written")) << name << error;
  }
  for (uint64_t seed = 0; seed < 8; ++seed) {
    restart(seed);
    EXPECT_TRUE(has(run("exchange_warps", 1, {}), "races with block 0"));
  }
}

TEST_F(Kernel, GivesTheSameForAnySeed) {
  std::vector<float> values(64 * blockSize);
  std::iota(values.begin(), values.end(), 0.0f);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    restart(seed);
    float *x = upload(values), *y = allocate(values.size());
    ASSERT_EQ(run("reverse", 64, {x, y}), "");
    std::vector<float> result = download(y, values.size(), nullptr);
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(result[i], float(i / blockSize * blockSize + blockSize - 1 - i % blockSize));
  }
}

TEST_F(Kernel, DivergesAtABarrier) {
  std::string error = run("diverge_at_barrier", 1, {});
  EXPECT_TRUE(has(error, "thread 0 waits at a barrier that thread 32 never comes to")) << error;
}

TEST_F(Kernel, ExchangesBetweenLanes) {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.0f);
  float *x = upload(values), *y = allocate(2);
  EXPECT_EQ(run("sum_lanes", 1, {x, y}), "");
  EXPECT_EQ(download(y, 2, nullptr), (std::vector<float>{496, 1520}));
  std::string error = run("diverge_at_exchange", 1, {});
  EXPECT_TRUE(has(error, "exchanges a value with lanes of which thread")) << error;
  restart(1);
  error = run("ask_stranger", 1, {});
  EXPECT_TRUE(has(error, "but thread 4 is no member of the exchange")) << error;
  restart(1);
  error = run("ask_other_warp", 1, {});
  EXPECT_TRUE(has(error, "is no member of the exchange")) << error;
  restart(1);
  error = run("exchange_without_itself", 1, {});
  EXPECT_TRUE(has(error, "but thread 0 is no member of the exchange")) << error;
}

TEST_F(Kernel, MisusesSharedMemory) {
  std::string error = run("read_unwritten_shared", 1, {});
  EXPECT_TRUE(has(error, "reads shared memory that was never written")) << error;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    restart(seed);
    error = run("read_shared_of_other_block", 2, {});
    EXPECT_TRUE(has(error, "block 1") && has(error, "shared memory that was never written"));
  }
  restart(1);
  error = run("exceed_shared", 1, {});
  EXPECT_TRUE(has(error, "(shared memory + ") &&
              has(error, "that reaches beyond the block's shared memory"))
      << error;
}

TEST_F(Kernel, NeedsTooMuchStack) {
  EXPECT_TRUE(has(run("use_much_stack", 1, {}), "needs a larger stack"));
}

TEST_F(Kernel, TellsBytesApart) {
  char *y = allocate<char>(256);
  EXPECT_EQ(run("store_bytes", 4, {y}), "");
  EXPECT_EQ(download(y, 256, nullptr)[255], 63);
}

TEST_F(Kernel, SeesPartsOfVectors) {
  float *y = allocate(64);
  EXPECT_EQ(run("split_vector", 1, {y}), "");
  std::string error = run("split_vector_racing", 1, {y});
  EXPECT_TRUE(has(error, "thread 3") && has(error, "races with block 0, thread 0")) << error;
  restart(1);
  char *wide = allocate<char>(8192);
  error = run("store_across_page", 1, {wide});
  EXPECT_TRUE(has(error, "thread 1") && has(error, "races with block 0, thread 0")) << error;
}

} // namespace

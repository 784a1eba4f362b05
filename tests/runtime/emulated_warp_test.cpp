//===- emulated_warp_test.cpp - What the emulator sees of copies and matrices in a warp -------===//
//
// One kernel for each fault, and beside it the kernel without the fault, which has to pass.
//
//===------------------------------------------------------------------------------------------===//

#include "EmulatedCudaTest.h"

#include "runtime/Half.h"

#include <numeric>

using namespace halfstep::tests;

namespace {

constexpr unsigned blockSize = 64;
constexpr uint64_t tile = blockSize * sizeof(float);

float *floats(void *parameter) { return static_cast<float *>(parameter); }

enum class Copy { Right, NotAwaited, AwaitedTooEarly, WithoutBarrier, OverRead, ToGlobal };

/// y[i] = x[63 - i]; copied while threads go on, in two groups for each thread that copies.
template <Copy how> void copyThrough(void *const *parameters, hs_emulated_thread *self) {
  auto *shared = reinterpret_cast<float *>(self->shared);
  float *x = floats(parameters[0]), *y = floats(parameters[1]);
  if (how == Copy::OverRead) { // what others have just read
    store(self, shared + self->thread, 0.0f);
    self->barrier(self);
    load(self, shared + blockSize - 1 - self->thread);
  }
  if (self->thread < blockSize / 8)
    for (uint32_t at : {self->thread * 8, self->thread * 8 + 4}) {
      self->copy_async(self, (how == Copy::ToGlobal ? y : shared) + at, x + at, 16);
      self->commit_copies(self);
    }
  if (how != Copy::NotAwaited)
    self->wait_for_copies(self, how == Copy::AwaitedTooEarly ? 1 : 0);
  if (how != Copy::WithoutBarrier)
    self->barrier(self);
  store(self, y + self->thread, load(self, shared + blockSize - 1 - self->thread));
}

/// y = what lanes get of matrices that are numbered through, transposed; other lanes store the
/// rows.
template <bool isSynchronised> void transpose(void *const *parameters, hs_emulated_thread *self) {
  char *rows = self->shared;
  uint32_t other = self->thread ^ 1;
  uint16_t row[8];
  for (uint16_t i = 0; i < 8; ++i)
    row[i] = uint16_t(other * 8 + i);
  self->access(self, rows + other * 16, 16, 16, 1);
  std::memcpy(rows + other * 16, row, 16);
  if (isSynchronised)
    self->sync(self, ~uint32_t(0));
  uint32_t registers[4];
  self->load_matrices(self, rows + self->thread * 16, 1, registers);
  auto *y = static_cast<uint32_t *>(parameters[0]);
  for (uint32_t i = 0; i < 4; ++i)
    store(self, y + self->thread * 4 + i, registers[i]);
}

/// Matrices of which each element says where it is: products are exact, and each is another.
void multiply(void *const *parameters, hs_emulated_thread *self) {
  uint32_t lane = self->thread, row = lane / 4, pair = lane % 4 * 2;
  auto left = [](uint32_t row, uint32_t k) { return float(row + 1) * (k == row ? 1.0f : 0.0f); };
  auto right = [](uint32_t k, uint32_t column) { return float(k * 8 + column); };
  auto pack = [](float low, float high) {
    return uint32_t(halfstep::runtime::doubleToHalf(low)) |
           uint32_t(halfstep::runtime::doubleToHalf(high)) << 16;
  };
  uint32_t operands[6];
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t r = row + i % 2 * 8, k = pair + i / 2 * 8;
    operands[i] = pack(left(r, k), left(r, k + 1));
  }
  for (uint32_t i = 0; i < 2; ++i)
    operands[4 + i] = pack(right(pair + i * 8, row), right(pair + i * 8 + 1, row));
  float sums[4] = {0.5f, 0.5f, 0.5f, 0.5f};
  self->multiply(self, operands, 0, sums);
  for (uint32_t i = 0; i < 4; ++i)
    store(self, floats(parameters[0]) + (row + i / 2 * 8) * 8 + pair + i % 2, sums[i]);
}

class Warp : public EmulatedCudaTest {
protected:
  Warp()
      : EmulatedCudaTest({{"copy", copyThrough<Copy::Right>, tile, nullptr},
                          {"copy_not_awaited", copyThrough<Copy::NotAwaited>, tile, nullptr},
                          {"copy_too_early", copyThrough<Copy::AwaitedTooEarly>, tile, nullptr},
                          {"copy_no_barrier", copyThrough<Copy::WithoutBarrier>, tile, nullptr},
                          {"copy_over_read", copyThrough<Copy::OverRead>, tile, nullptr},
                          {"copy_to_global", copyThrough<Copy::ToGlobal>, tile, nullptr},
                          {"transpose", transpose<true>, blockSize * 16, nullptr},
                          {"transpose_racing", transpose<false>, blockSize * 16, nullptr},
                          {"multiply", multiply, 0, nullptr}}) {}

  /// What is wrong with a launch of one block; "" if nothing is.
  std::string run(const std::string &name, unsigned threads, std::vector<const void *> arguments) {
    Function function = loadFunction(name, int(arguments.size()));
    EXPECT_EQ(launch(function, 1, threads, std::move(arguments)), success);
    return errorOf([&] { EXPECT_EQ(driver.cuStreamSynchronize(nullptr), success); });
  }
};

TEST_F(Warp, CopiesWhileItGoesOn) {
  std::vector<float> values(blockSize);
  std::iota(values.begin(), values.end(), 0.0f);
  float *x = upload(values), *y = allocate(blockSize);
  EXPECT_EQ(run("copy", blockSize, {x, y}), "");
  EXPECT_EQ(download(y, blockSize, nullptr), std::vector<float>(values.rbegin(), values.rend()));
}

TEST_F(Warp, MisusesCopies) {
  for (auto [name, what] : {std::pair("copy_not_awaited", "never written"),
                            std::pair("copy_too_early", "never written"),
                            std::pair("copy_no_barrier", "races with block"),
                            std::pair("copy_over_read", "races with block"),
                            std::pair("copy_to_global", "memory that is not shared")}) {
    restart(2);
    float *x = upload(std::vector<float>(blockSize, 1.0f)), *y = allocate(blockSize);
    std::string error = run(name, blockSize, {x, y});
    // What is not there yet is as wrong as what nothing orders, whichever a thread comes to first.
    EXPECT_TRUE(error.find(what) != std::string::npos ||
                (std::string(name) == "copy_no_barrier" &&
                 error.find("never written") != std::string::npos))
        << name << ": " << error;
  }
}

TEST_F(Warp, LoadsMatricesTransposed) {
  auto *y = allocate<uint32_t>(blockSize * 4);
  ASSERT_EQ(run("transpose", blockSize, {y}), "");
  std::vector<uint32_t> registers = download(y, blockSize * 4, nullptr);
  for (uint32_t thread = 0; thread < blockSize; ++thread)
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
      uint32_t firstRow = thread / 32 * 32 + matrix * 8 + thread % 4 * 2;
      uint32_t low = firstRow * 8 + thread % 32 / 4, high = low + 8;
      EXPECT_EQ(registers[thread * 4 + matrix], low | high << 16) << thread << " " << matrix;
    }
  restart(1);
  std::string error = run("transpose_racing", blockSize, {allocate<uint32_t>(blockSize * 4)});
  EXPECT_TRUE(error.find("races") != std::string::npos ||
              error.find("never written") != std::string::npos)
      << error;
}

TEST_F(Warp, MultipliesMatrices) {
  float *y = allocate(16 * 8);
  ASSERT_EQ(run("multiply", 32, {y}), "");
  std::vector<float> products = download(y, 16 * 8, nullptr);
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < 8; ++column)
      EXPECT_EQ(products[row * 8 + column], 0.5f + float((row + 1) * (row * 8 + column)))
          << row << " " << column;
}

} // namespace

//===- KernelTest.cpp - every form of kernel against the interpreter ------------------------===//
//
// Each group is compiled for many sizes and storage types and has to stay within the interpreter's
// bound, and to give the same bits for one call and for three calls in reverse order.
//
//===---------------------------------------------------------------------------------------===//

#include "GroupCases.h"
#include "Reference.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::tests;

/// Runs one group on random data and compares it with its interpretation, and bit for bit with the
/// same kernel for a smaller instruction set.
static void check(Library &library, Library &level3, GroupOp group, int seed) {
  SCOPED_TRACE(group.getSymName().str());
  std::mt19937 random(seed);
  Buffers buffers = randomBuffers(group, random);
  auto expected = interpret(group, buffers);
  Buffers before = buffers, inPieces = buffers, onLevel3 = buffers;
  library.run(group, buffers);
  library.run(group, inPieces, 3);
  EXPECT_EQ(buffers, inPieces) << "differs when it is divided";
  level3.run(group, onLevel3);
  EXPECT_EQ(buffers, onLevel3) << "differs on x86-64-v3";

  for (auto [i, out] : llvm::enumerate(group.getOuts())) {
    Type storage = group.getStorageType(out);
    // What storing may add: half a unit in the last place, of a subnormal number at least.
    long double relative = storage.isBF16() ? 0x1p-8L : storage.isF16() ? 0x1p-11L : 0;
    long double absolute = storage.isF16() ? 0x1p-25L : storage.isF64() ? 0 : 0x1p-149L;
    for (size_t at = 0; at < expected[i].size(); ++at) {
      Number number = expected[i][at];
      if (number.error < 0) { // beside the points of the space
        auto bytes = [&](const std::vector<char> &buffer) {
          return StringRef(buffer.data() + at * bytesOf(storage), bytesOf(storage));
        };
        ASSERT_EQ(bytes(buffers[out]), bytes(before[out])) << "result " << i << ", element " << at;
        continue;
      }
      long double got = readElement(storage, buffers[out].data(), at);
      long double bound =
          number.error + relative * (std::abs(number.value) + number.error) + absolute;
      if (std::isnan(number.value))
        ASSERT_TRUE(std::isnan(got)) << "result " << i << ", element " << at;
      else
        ASSERT_LE(std::abs(got - number.value), bound)
            << "result " << i << ", element " << at << ": " << double(got) << " for "
            << double(number.value);
    }
  }
}

class KernelTest : public testing::TestWithParam<GroupCase> {};

TEST_P(KernelTest, ComputesWhatItMeans) {
  for (const std::string &type : GetParam().types) {
    SCOPED_TRACE(type);
    std::string text = GetParam().instantiate(type);
    Library library(text), level3(text, "x86-64-v3");
    if (HasFatalFailure())
      return;
    for (auto group : library.module().getOps<GroupOp>())
      check(library, level3, group, 7);
  }
}

/// Also where the processor has an instruction for bf16, which flushes small numbers to zero, and
/// where it has none.
TEST(Kernels, RoundToBfloat16AsMemoryDoes) {
  for (const char *cpu : {"native", "x86-64-v3"}) {
    Library library("kernel.group @round [40](%x: f32[1]) -> (f32[1]) {\n"
                    "%n = arith.truncf %x : f32 to bf16\n%y = arith.extf %n : bf16 to f32\n"
                    "kernel.yield %y : f32\n}",
                    cpu);
    if (HasFatalFailure())
      return;
    std::vector<char> x(40 * sizeof(float)), y(x.size());
    for (int i = 0; i < 40; ++i) // multiples of the smallest number of bf16
      reinterpret_cast<float *>(x.data())[i] = float(i) * 0x1p-133f;
    Buffers buffers{x, y};
    library.run(*library.module().getOps<GroupOp>().begin(), buffers);
    EXPECT_EQ(buffers[1], x) << cpu;
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, KernelTest, testing::ValuesIn(groupCases()),
                         [](const testing::TestParamInfo<GroupCase> &info) {
                           return std::string(info.param.name);
                         });

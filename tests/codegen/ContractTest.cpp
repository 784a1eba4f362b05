//===- ContractTest.cpp - tiny matrix products, bit for bit ---------------------------------===//
//
// The order of a product's sums is part of its meaning: k fused multiply-adds an element, from zero
// up, then the bias, then one rounding. So the test computes the same and compares bits, for every
// way that the operands may lie.
//
//===---------------------------------------------------------------------------------------===//

#include "Harness.h"
#include "runtime/Half.h"

#include "mlir/AsmParser/AsmParser.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace halfstep;
using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::tests;

/// `read` takes a number to the type of sums, `write` rounds a sum.
template <typename T, typename Read, typename Write>
static void check(const Kernel &kernel, ContractOp op, Read read, Write write) {
  SCOPED_TRACE(op.getSymName().str());
  auto extent = [](std::array<int64_t, 3> sizes, ArrayRef<int64_t> strides) {
    int64_t last = 0;
    for (int d = 0; d < 3; ++d)
      last += (sizes[d] - 1) * strides[d];
    return last + 1;
  };
  int64_t batch = op.getBatch(), m = op.getM(), n = op.getN(), k = op.getK();
  auto aS = op.getAStrides(), bS = op.getBStrides(), cS = op.getCStrides();
  std::vector<T> a(extent({batch, m, k}, aS)), b(extent({batch, k, n}, bS)), bias(n),
      c(extent({batch, m, n}, cS), T(77)), inPieces = c, expected = c;
  std::mt19937 random(3);
  std::uniform_real_distribution<decltype(read(T()))> number(-1, 1);
  for (std::vector<T> *values : {&a, &b, &bias})
    for (T &x : *values)
      x = write(number(random));
  for (int64_t s = 0; s < batch; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        decltype(read(T())) sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum = std::fma(read(a[s * aS[0] + i * aS[1] + l * aS[2]]),
                         read(b[s * bS[0] + l * bS[1] + j * bS[2]]), sum);
        if (op.getBias())
          sum += read(bias[j]);
        expected[s * cS[0] + i * cS[1] + j * cS[2]] = write(sum);
      }
  auto run = [&](std::vector<T> &result, int pieces) {
    if (op.getBias())
      kernel.run({a.data(), b.data(), bias.data(), result.data()}, pieces);
    else
      kernel.run({a.data(), b.data(), result.data()}, pieces);
    EXPECT_EQ(result, expected);
  };
  run(c, 1);
  run(inPieces, 3);
}

static void checkAll(const std::string &cpu) {
  std::string text;
  int number = 0;
  auto addPacked = [&](const char *type, std::array<int64_t, 4> s, bool transposeA, bool transposeB,
                       bool repeatB, bool bias) {
    MLIRContext context;
    context.loadDialect<KernelDialect>();
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    Type element = parseType(type, &context);
    ContractOp::create(builder, builder.getUnknownLoc(), "c" + std::to_string(number++), element,
                       {s[0], s[1], s[2], s[3]}, transposeA, transposeB, false, repeatB, bias);
    llvm::raw_string_ostream(text) << *module->getBody()->begin() << "\n";
  };
  for (const char *type : {"f16", "bf16", "f32", "f64"})
    for (auto size : std::vector<std::array<int64_t, 4>>{{1, 1, 1, 1},
                                                         {1, 16, 10, 10},
                                                         {1, 16, 1, 10},
                                                         {1, 1, 16, 10},
                                                         {3, 7, 17, 5},
                                                         {2, 6, 33, 64},
                                                         {1, 64, 64, 64},
                                                         {5, 13, 100, 1}})
      for (bool transposeA : {false, true})
        for (bool transposeB : {false, true})
          for (bool bias : {false, true})
            addPacked(type, size, transposeA, transposeB, transposeA, bias);
  // A transposed result, leading dimensions larger than the rows, and a matrix too large to pack.
  text += "kernel.contract @t [2, 9, 4, 6] f32 (a[54, 1, 9], b[24, 4, 1], bias) -> c[36, 1, 9]\n"
          "kernel.contract @l [1, 9, 20, 6] f32 (a[0, 16, 1], b[0, 32, 1]) -> c[0, 24, 1]\n"
          "kernel.contract @p [1, 3, 100, 200] f64 (a[0, 200, 1], b[0, 1, 200]) -> c[0, 100, 1]\n";
  Library library(text, cpu);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  for (auto op : library.module().getOps<ContractOp>()) {
    const Kernel &kernel = library[op.getSymName()];
    auto same = [](auto x) { return x; };
    if (op.getType().isF16())
      check<uint16_t>(kernel, op, runtime::halfToFloat, runtime::floatToHalf);
    else if (op.getType().isBF16())
      check<uint16_t>(kernel, op, runtime::bfloatToFloat, runtime::floatToBfloat);
    else if (op.getType().isF32())
      check<float>(kernel, op, same, same);
    else
      check<double>(kernel, op, same, same);
  }
}

TEST(ContractTest, Native) { checkAll("native"); }
TEST(ContractTest, Level3) { checkAll("x86-64-v3"); }

//===- EmulatedWindowTest.cpp - convolution and pooling as grid kernels ---------------------===//
//
// On the emulator, which checks each access, in several orders of blocks and warps, which must not
// change a bit. Poolings give the bits of the CPU's; convolutions, whose sums are in another order,
// lie within rounding of the CPU's in f64 on the same operands.
//
//===---------------------------------------------------------------------------------------===//

#include "EmulatedModule.h"
#include "WindowCases.h"

#include "codegen/LowerToLlvm.h"
#include "passes/CallDetails.h"
#include "runtime/Error.h"
#include "tests/runtime/WindowTest.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::runtime;
using namespace halfstep::tests;

namespace {
using Numbers = std::vector<double>;
} // namespace

static int64_t elementsOf(Type tensor) { return cast<ShapedType>(tensor).getNumElements(); }

/// Numbers in [-1, 1]; for poolings, few different ones and some that are none.
static Numbers draw(int64_t count, bool isPooling, std::mt19937 &random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Numbers numbers(count);
  for (double &number : numbers) {
    number = uniform(random);
    if (isPooling)
      number = std::round(4 * number) / 4;
    if (isPooling && random() % 16 == 0)
      number = random() % 2 ? NAN : -INFINITY;
  }
  return numbers;
}

/// A convolution in f64: sums over the parts, and of the terms' magnitudes.
static std::pair<Numbers, Numbers> expectedSums(hs_conv conv, const Numbers &a, const Numbers &b,
                                                int64_t elements) {
  conv.a_type = conv.b_type = conv.c_type = HS_F64;
  auto sums = [&](Numbers left, Numbers right) {
    return decode(runEntry(HS_CONV, &conv, {encode(left, HS_F64), encode(right, HS_F64)},
                           elements * sizeof(double), 1),
                  HS_F64);
  };
  auto magnitudes = [](Numbers numbers) {
    for (double &number : numbers)
      number = std::abs(number);
    return numbers;
  };
  return {sums(a, b), sums(magnitudes(a), magnitudes(b))};
}

static Numbers addParts(const Numbers &numbers, int64_t parts) {
  Numbers sums(numbers.size() / parts);
  for (size_t i = 0; i < numbers.size(); ++i)
    sums[i % sums.size()] += numbers[i];
  return sums;
}

static void expectConvolution(const hs_conv &conv, const std::vector<std::string> &operands,
                              const std::string &result) {
  Numbers computed = decode(result, conv.c_type);
  auto [sums, magnitudes] = expectedSums(conv, decode(operands[0], conv.a_type),
                                         decode(operands[1], conv.b_type), computed.size());
  computed = addParts(computed, conv.parts);
  sums = addParts(sums, conv.parts);
  magnitudes = addParts(magnitudes, conv.parts);
  double unit = conv.a_type == HS_F64 ? 0x1p-53 : 0x1p-24; // of the sums
  int64_t points = volumeOf(conv.window.kernel);
  int64_t terms = conv.kind == HS_CONV_FORWARD          ? points * conv.input_channels
                  : conv.kind == HS_CONV_INPUT_GRADIENT ? points * conv.output_channels
                                                        : conv.batch * volumeOf(conv.window.output);
  for (size_t i = 0; i < sums.size(); ++i) {
    // Errors of sums add up like a random walk; then one rounding, of a subnormal f16 to 2^-25.
    double tolerance = 2 * std::sqrt(double(terms)) * unit * magnitudes[i] +
                       roundingOf(conv.c_type) * std::abs(sums[i]) +
                       (conv.c_type == HS_F16 ? 0x1p-25 : 0);
    ASSERT_NEAR(computed[i], sums[i], tolerance) << i;
  }
}

/// The result's bytes on the device; nothing was ever written to them before.
static std::string runOnDevice(const EmulatedModule &kernels, llvm::StringRef name,
                               const std::vector<std::string> &operands, size_t resultBytes,
                               uint64_t seed) {
  DeviceMemory memory;
  GridRun device(memory, seed);
  SmallVector<void *> addresses;
  for (const std::string &operand : operands)
    addresses.push_back(toDevice(memory, {operand.data(), operand.size()}, true));
  std::string result(resultBytes, unwritten);
  addresses.push_back(toDevice(memory, {result.data(), result.size()}, false));
  try {
    kernels.launch(name, addresses, device);
  } catch (const Error &error) {
    ADD_FAILURE() << error.what();
  }
  std::memcpy(result.data(), addresses.back(), resultBytes);
  return result;
}

static void check(Operation *entry, const EmulatedModule &kernels, llvm::StringRef name) {
  SCOPED_TRACE(describeEntry(entry));
  auto typeOf = [](Type tensor) {
    return *storageTypeOf(cast<ShapedType>(tensor).getElementType());
  };
  auto pool = dyn_cast<table::PoolOp>(entry);
  std::mt19937 random(5);
  std::vector<std::string> operands;
  for (Type type : entry->getOperandTypes())
    operands.push_back(encode(draw(elementsOf(type), bool(pool), random), typeOf(type)));
  auto type = cast<ShapedType>(entry->getResult(0).getType());
  size_t bytes = elementsOf(type) * type.getElementTypeBitWidth() / 8;

  std::string result = runOnDevice(kernels, name, operands, bytes, 1);
  for (uint64_t seed : {2, 3})
    EXPECT_TRUE(runOnDevice(kernels, name, operands, bytes, seed) == result) << "seed " << seed;
  if (auto conv = dyn_cast<table::ConvOp>(entry))
    return expectConvolution(*describe(conv), operands, result);
  hs_pool described = *describe(pool);
  Numbers expected = decode(runEntry(HS_POOL, &described, operands, bytes, 1), described.type),
          computed = decode(result, described.type);
  for (size_t i = 0; i < expected.size(); ++i) // NaNs may have other bits
    ASSERT_TRUE(computed[i] == expected[i] || (std::isnan(computed[i]) && std::isnan(expected[i])))
        << i << ": " << computed[i] << " instead of " << expected[i];
}

namespace {
class EmulatedWindowTest : public testing::TestWithParam<WindowCase> {};
} // namespace

TEST_P(EmulatedWindowTest, IsTheCpusWithTheSameBitsInAnyOrder) {
  MLIRContext context;
  codegen::loadKernelDialects(context);
  OwningOpRef<ModuleOp> entries = entriesOf(GetParam(), context);
  OwningOpRef<ModuleOp> code = ModuleOp::create(entries->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  llvm::StringMap<codegen::Grid> grids;
  std::vector<std::pair<Operation *, std::string>> names;
  entries->walk([&](Operation *entry) {
    if (!isa<table::ConvOp, table::PoolOp>(entry))
      return;
    names.push_back({entry, "entry" + std::to_string(names.size())});
    auto grid = emitEntry(builder, entry, names.back().second);
    ASSERT_TRUE(succeeded(grid));
    grids[names.back().second] = *grid;
  });
  EmulatedModule kernels;
  kernels.load(*code, grids);
  if (HasFatalFailure())
    return;
  for (auto &[entry, name] : names)
    check(entry, kernels, name);
}

INSTANTIATE_TEST_SUITE_P(Windows, EmulatedWindowTest, testing::ValuesIn(windowCases()),
                         [](const testing::TestParamInfo<WindowCase> &info) {
                           return std::string(info.param.name);
                         });

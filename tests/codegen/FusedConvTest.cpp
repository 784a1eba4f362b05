//===- FusedConvTest.cpp - a convolution with its loss and gradient, emulated ---------------===//
//
// One kernel against the entries that it is made of, both on the emulator, which checks each
// access, and both against the same arithmetic in C++: points in the types that the kernel computes
// them in, sums in f64. The filters and inputs are such that sums of y are exact, so that no
// rounding depends on an order.
//
//===---------------------------------------------------------------------------------------===//

#include "EmulatedModule.h"
#include "FusedConvCases.h"

#include "passes/CallDetails.h"
#include "runtime/Error.h"
#include "tests/runtime/Numbers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::runtime;
using namespace halfstep::tests;

namespace {
using Numbers = std::vector<double>;

/// What a step computes, all in f32, and the magnitudes of what its sums are made of.
struct Results {
  double loss = 0, lossMagnitude = 0;
  Numbers dw, dwMagnitude, db, dbMagnitude;
};

/// The inputs of @micro.
struct Inputs {
  Numbers x, w, bias, label;
  float scale = 0.25f;
};
} // namespace

static hs_type typeOf(StringRef name) {
  return name == "f16" ? HS_F16 : name == "bf16" ? HS_BF16 : HS_F32;
}

static double rounded(double number, hs_type type) {
  return decode(encode({number}, type), type)[0];
}

static Inputs draw(const FusedConvCase &fused) {
  hs_type type = typeOf(fused.type);
  int64_t images = fused.batch * fused.inputs * fused.input[0] * fused.input[1],
          points = fused.outputs * fused.inputs * fused.kernel[0] * fused.kernel[1];
  Inputs inputs;
  inputs.x = drawWhole(images, 1);
  inputs.w = runtime::draw(points, type, 2);
  for (double &number : inputs.w) { // few bits behind the point: sums in f32 are exact
    double unit = type == HS_F16 ? 0x1p-10 : 0x1p-7;
    number = std::round(number / unit) * unit;
  }
  inputs.bias = runtime::draw(fused.outputs, type, 3);
  inputs.label =
      runtime::draw(fused.batch * fused.outputs * fused.positions(), typeOf(fused.label), 4);
  return inputs;
}

/// The loss of a difference, and its derivative, in f32.
static std::pair<float, float> lossOf(LossKind kind, float d) {
  float sign = std::copysign(1.0f, d), size = std::abs(d);
  switch (kind) {
  case LossKind::Squared:
    return {d * d, d + d};
  case LossKind::Absolute:
    return {size, sign};
  case LossKind::Huber:
    return size < 1 ? std::pair(0.5f * (d * d), d) : std::pair(size - 0.5f, sign);
  }
  llvm_unreachable("kind of loss");
}

static Results expected(const FusedConvCase &fused, const Inputs &in) {
  hs_type type = typeOf(fused.type);
  auto [rows, columns] = fused.output();
  int64_t count = fused.kernel[0] * fused.kernel[1], points = count * fused.inputs;
  Results sums;
  sums.dw = sums.dwMagnitude = Numbers(in.w.size());
  sums.db = sums.dbMagnitude = Numbers(fused.outputs);
  for (int64_t n = 0; n < fused.batch; ++n)
    for (int64_t position = 0; position < rows * columns; ++position) {
      Numbers patch(points); // in the order of a filter
      for (int64_t point = 0; point < count; ++point)
        for (int64_t c = 0; c < fused.inputs; ++c) {
          int64_t row = position / columns * fused.stride[0] - fused.pads[0] +
                        point / fused.kernel[1] * fused.dilation[0];
          int64_t column = position % columns * fused.stride[1] - fused.pads[1] +
                           point % fused.kernel[1] * fused.dilation[1];
          auto [height, width] = fused.input;
          bool isLast = fused.channelsLast;
          if (row >= 0 && row < height && column >= 0 && column < width)
            patch[isLast ? point * fused.inputs + c : c * count + point] =
                in.x[isLast ? ((n * height + row) * width + column) * fused.inputs + c
                            : ((n * fused.inputs + c) * height + row) * width + column];
        }
      for (int64_t k = 0; k < fused.outputs; ++k) {
        double y = 0;
        for (int64_t i = 0; i < points; ++i)
          y += patch[i] * in.w[k * points + i];
        EXPECT_EQ(y, float(y)) << "the case is not exact";
        float z = float(rounded(y, type));
        if (fused.hasBias)
          z = float(rounded(z + float(in.bias[k]), type));
        float d = z - float(in.label[fused.offsetInOutput(n, k, position, true)]);
        auto [loss, slope] = lossOf(fused.loss, d);
        double dy = rounded(slope * in.scale, type);
        sums.loss += loss;
        sums.lossMagnitude += std::abs(loss);
        sums.db[k] += dy;
        sums.dbMagnitude[k] += std::abs(dy);
        for (int64_t i = 0; i < points; ++i) {
          sums.dw[k * points + i] += dy * patch[i];
          sums.dwMagnitude[k * points + i] += std::abs(dy * patch[i]);
        }
      }
    }
  return sums;
}

namespace {
/// A program's kernels, and what they compute.
class Device {
public:
  Device(const FusedConvCase &fused, bool fuse)
      : fused(fused), program(programOf(fused, fuse, context)), emitted(emitProgram(*program)) {
    kernels.load(*emitted.code, emitted.grids);
  }

  template <typename Op> size_t count() {
    size_t found = 0;
    program->walk([&](Op) { ++found; });
    return found;
  }

  /// The bytes of the results of @micro.
  std::vector<std::string> run(const Inputs &in, uint64_t seed) {
    DeviceMemory memory;
    GridRun device(memory, seed);
    DenseMap<Value, void *> places;
    hs_type type = typeOf(fused.type);
    auto micro = program->lookupSymbol<func::FuncOp>("micro");
    std::string operands[] = {encode(in.x, type), encode(in.w, type), encode(in.bias, type),
                              encode(in.label, typeOf(fused.label)), encode({in.scale}, HS_F32)};
    for (auto [argument, bytes] : llvm::zip(micro.getArguments(), operands))
      places[argument] = toDevice(memory, {bytes.data(), bytes.size()}, /*isWritten=*/true);
    try {
      for (auto &[entry, name] : emitted.entries) {
        for (Value result : entry->getResults()) {
          std::string bytes(sizeOf(result), unwritten);
          places[result] = toDevice(memory, {bytes.data(), bytes.size()}, /*isWritten=*/false);
        }
        SmallVector<void *> addresses;
        for (ValueRange values :
             {ValueRange(entry->getOperands()), ValueRange(entry->getResults())})
          for (Value value : values)
            addresses.push_back(places.lookup(value));
        kernels.launch(name, addresses, device);
      }
    } catch (const Error &error) {
      ADD_FAILURE() << error.what();
    }
    std::vector<std::string> results;
    for (Value value : micro.front().getTerminator()->getOperands())
      results.emplace_back(static_cast<char *>(places.lookup(value)), sizeOf(value));
    return results;
  }

private:
  static size_t sizeOf(Value value) {
    return table::storageBytes(cast<RankedTensorType>(value.getType()));
  }

  const FusedConvCase &fused;
  MLIRContext context;
  OwningOpRef<ModuleOp> program;
  EmittedProgram emitted;
  EmulatedModule kernels;
};

class FusedConvTest : public testing::TestWithParam<FusedConvCase> {};
} // namespace

/// Errors of sums add up like a random walk.
static double tolerance(double terms, double magnitude) {
  return 2 * std::sqrt(terms) * 0x1p-24 * magnitude;
}

static void check(const FusedConvCase &fused, const std::vector<std::string> &results,
                  const Results &expected) {
  double positions = double(fused.batch * fused.positions());
  double loss = 0;
  for (double part : decode(results[0], HS_F32))
    loss += part;
  EXPECT_NEAR(loss, expected.loss,
              tolerance(positions * double(fused.outputs), expected.lossMagnitude));
  if (!fused.hasGradient)
    return;
  Numbers dw = decode(results[1], HS_F32);
  ASSERT_EQ(dw.size(), expected.dw.size());
  for (size_t i = 0; i < dw.size(); ++i)
    ASSERT_NEAR(dw[i], expected.dw[i], tolerance(positions, expected.dwMagnitude[i])) << "dw " << i;
  if (!fused.hasBias)
    return;
  Numbers parts = decode(results[2], HS_F32), db(fused.outputs);
  for (size_t i = 0; i < parts.size(); ++i)
    db[i % db.size()] += parts[i];
  for (size_t i = 0; i < db.size(); ++i)
    ASSERT_NEAR(db[i], expected.db[i], tolerance(positions, expected.dbMagnitude[i])) << "db " << i;
}

TEST_P(FusedConvTest, IsTheSeparateEntriesWithTheSameBitsInAnyOrder) {
  const FusedConvCase &fused = GetParam();
  Inputs inputs = draw(fused);
  Results results = expected(fused, inputs);
  Device separate(fused, /*fuse=*/false), one(fused, /*fuse=*/true);
  if (HasFailure())
    return;
  EXPECT_EQ(separate.count<table::ConvOp>(), fused.hasGradient ? 2u : 1u);
  EXPECT_EQ(one.count<table::ConvOp>(), 0u);
  ASSERT_EQ(one.count<table::FusedConvOp>(), 1u);
  {
    SCOPED_TRACE("separate entries");
    check(fused, separate.run(inputs, 1), results);
  }
  std::vector<std::string> first = one.run(inputs, 1);
  check(fused, first, results);
  for (uint64_t seed : {2, 3})
    EXPECT_EQ(one.run(inputs, seed), first) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Convolutions, FusedConvTest, testing::ValuesIn(fusedConvCases()),
                         [](const testing::TestParamInfo<FusedConvCase> &info) {
                           return std::string(info.param.name);
                         });

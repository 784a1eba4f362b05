//===- devices_test.cpp - A step on the CPU and on a CUDA device ----------===//
//
// Every sample's step, forward and backward, on both. Kernels are the same arithmetic in the same
// order, so a step gives the same bits, unless it has an elementary function, which is libdevice's
// on a GPU, or a product, whose sums each library orders as it likes.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "SampleProgram.h"
#include "codegen/KernelForm.h"
#include "ir/TableDialect.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace halfstep;

namespace {
struct Mode {
  const char *precision, *halfType;
  Arrival arrival;
  double bound; // of what may differ, relative to the largest component
};

void PrintTo(const Mode &mode, std::ostream *os) { *os << mode.precision << '_' << mode.halfType; }

bool givesTheSameBits(mlir::ModuleOp module) {
  return !module
              .walk([](mlir::Operation *op) {
                bool mayDiffer = codegen::isElementaryFunction(*op) ||
                                 mlir::isa<table::GemmOp, table::ConvOp, table::FusedConvOp>(op);
                return mayDiffer ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
              })
              .wasInterrupted();
}

struct Computed {
  std::vector<std::vector<double>> values; // the loss, then the gradients
  bool isExact = false;
};

Computed compute(mlir::MLIRContext &context, const Sample &sample, const Mode &mode,
                 const TestDevice &device) {
  Computed result;
  ProgramOptions options;
  options.recipe.precision = mode.precision;
  options.recipe.halfType = mode.halfType;
  options.recipe.lossScale = "none";
  options.device = device;
  options.planned = [&](mlir::ModuleOp module) { result.isExact = givesTheSameBits(module); };
  Program program(context, sourceOf(sample, "f32", mode.arrival), options);
  std::vector<DrawnParameter> parameters = drawParameters(sample);
  for (auto &[name, isDifferentiated, values] : parameters)
    program.setParameter(name, values);
  program.running().run(HS_INIT); // 16-bit copies
  result.values.push_back({program.run()});
  for (auto &[name, isDifferentiated, values] : parameters)
    if (isDifferentiated)
      result.values.push_back(program.gradient(name));
  return result;
}

/// The largest difference, as a part of the largest magnitude.
double difference(const std::vector<double> &x, const std::vector<double> &y) {
  double worst = 0, largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double apart = std::abs(x[i] - y[i]);
    worst = std::max(worst, std::isnan(apart) ? INFINITY : apart);
    largest = std::max({largest, std::abs(x[i]), std::abs(y[i])});
  }
  return worst == 0 ? 0 : worst / largest;
}

class Devices : public testing::TestWithParam<Mode> {};

TEST_P(Devices, GiveTheSameBits) {
  const Mode &mode = GetParam();
  bool isFp32 = mode.arrival == Arrival::Direct;
  TestDevice device = TestDevice::cuda();
  auto context = makeContext();
  std::set<std::string> seen;
  unsigned exact = 0;
  for (const Sample &sample : samples()) {
    if (!seen.insert(sample.op).second && !isFp32) // of each op one in 16 bits
      continue;
    SCOPED_TRACE(sample.body);
    Computed onCpu = compute(*context, sample, mode, TestDevice::cpu());
    Computed onDevice = compute(*context, sample, mode, device);
    bool isExact = onCpu.isExact && onDevice.isExact;
    exact += isExact;
    ASSERT_EQ(onCpu.values.size(), onDevice.values.size());
    for (auto [cpu, cuda] : llvm::zip(onCpu.values, onDevice.values))
      EXPECT_LE(difference(cpu, cuda), isExact ? 0 : mode.bound);
  }
  EXPECT_GE(exact, isFp32 ? 100u : 30u);
}

INSTANTIATE_TEST_SUITE_P(Modes, Devices,
                         testing::Values(Mode{"fp32", "fp16", Arrival::Direct, 1e-5},
                                         Mode{"half-grad", "fp16", Arrival::Low, 0x1p-10},
                                         Mode{"half-grad", "bf16", Arrival::Low, 0x1p-7}),
                         [](const testing::TestParamInfo<Mode> &info) {
                           return std::string(info.param.arrival == Arrival::Direct
                                                  ? "fp32"
                                                  : info.param.halfType);
                         });
} // namespace

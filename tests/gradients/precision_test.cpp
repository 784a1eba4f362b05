//===- precision_test.cpp - Every op in every precision mode --------------===//
//
// Differentiation comes before types here, PyTorch's autocast has it the other way round: casts are
// ops of the forward pass and have adjoints. Both orders must give the same step. Every sample is
// compiled both ways, with operands that arrive in 32 and in 16 bits:
//
//   - every adjoint that both orders build has the same type in both, and so has every gradient;
//   - the steps are the same ops on the same values, or else their gradients agree within one
//     rounding of the 16-bit type.
//
// What both orders get wrong in the same way shows in a third computation, in f64 on the same
// numbers. Its bounds are roundings on the way to a gradient, in units of the largest component.
//
//===----------------------------------------------------------------------===//

#include "CastsFirst.h"
#include "Program.h"
#include "SampleProgram.h"
#include "Source.h"
#include "ir/TrainDialect.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Types.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace halfstep;

namespace {
struct Mode {
  std::string precision, halfType;
};

std::string nameOf(const Mode &mode) {
  std::string name = mode.precision + "_" + mode.halfType;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

ProgramOptions optionsFor(const Mode &mode) {
  ProgramOptions options;
  options.recipe.precision = mode.precision;
  options.recipe.halfType = mode.halfType;
  options.recipe.lossScale = "none";
  return options;
}

/// Half the distance between 1 and the next number.
double roundoff(const Mode &mode) {
  return mode.precision == "fp32" ? 0x1p-24 : mode.halfType == "fp16" ? 0x1p-11 : 0x1p-8;
}

std::vector<double> rounded(std::vector<double> values, hs_type type) {
  std::vector<char> narrow(values.size() * runtime::elementBytes(type));
  runtime::convert(values.data(), HS_F64, narrow.data(), type, values.size());
  runtime::convert(narrow.data(), type, values.data(), HS_F64, values.size());
  return values;
}

using Gradients = std::map<std::string, std::vector<double>>;

/// Gradients of the sample with parameters that every type of `type` or wider holds.
Gradients gradientsOf(mlir::MLIRContext &context, const Sample &sample, const std::string &element,
                      Arrival arrival, hs_type type, const ProgramOptions &options) {
  Program program(context, sourceOf(sample, element, arrival), options);
  Gradients gradients;
  for (auto &[name, isDifferentiated, values] : drawParameters(sample)) {
    program.setParameter(name, rounded(values, type));
    if (isDifferentiated)
      gradients[name];
  }
  program.running().run(HS_INIT); // 16-bit copies
  program.run();
  for (auto &[name, values] : gradients)
    values = program.gradient(name);
  return gradients;
}

double largestOf(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    largest = std::max(largest, std::isnan(value) ? INFINITY : std::abs(value));
  return largest;
}

/// The largest difference between two gradients of one operand, in roundings of `size`.
double roundingsBetween(const std::vector<double> &a, const std::vector<double> &b, double size,
                        const Mode &mode) {
  std::vector<double> difference(a);
  for (size_t i = 0; i < a.size(); ++i)
    difference[i] -= b[i];
  double largest = largestOf(difference);
  return largest == 0 ? 0 : largest / (size * roundoff(mode)); // gradients may be zero
}

int64_t opsOf(const Sample &sample) {
  int64_t count = 0;
  for (size_t at = 0; (at = sample.body.find("train.", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

//===----------------------------------------------------------------------===//
// Gradient-then-precision is casts-first
//===----------------------------------------------------------------------===//

constexpr Arrival kArrivals[] = {Arrival::Low, Arrival::Direct, Arrival::Mixed};

class EveryOp : public testing::TestWithParam<Mode> {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ProgramOptions options = optionsFor(GetParam());
  hs_type narrow = GetParam().halfType == "fp16" ? HS_F16 : HS_BF16;
};

TEST_P(EveryOp, HasTheTypesOfCastsFirst) {
  for (const Sample &sample : samples())
    for (Arrival arrival : kArrivals) {
      std::string source = sourceOf(sample, "f32", arrival);
      Types ours = typesOf(*differentiate(*context, source, options.recipe, false));
      Types theirs = typesOf(*differentiate(*context, source, options.recipe, true));
      EXPECT_EQ(ours.forward, theirs.forward) << source;
      EXPECT_TRUE(ours.gradients == theirs.gradients) << source;
      EXPECT_FALSE(ours.adjoints.empty());
      for (auto &[position, type] : ours.adjoints)
        EXPECT_EQ(theirs.adjoints[position], type) << ours.forward[position] << "\n" << source;
    }
}

TEST_P(EveryOp, HasTheGradientsOfCastsFirst) {
  if (options.device.isCuda())
    GTEST_SKIP() << "two orders of passes, which the CPU's kernels compare as well";
  // Where a parameter is 16 bits wide anyway it does not matter how it arrives.
  unsigned arrivals = GetParam().precision == "autocast"    ? 3
                      : GetParam().precision == "half-grad" ? 2
                                                            : 1;
  for (const Sample &sample : samples())
    for (Arrival arrival : llvm::ArrayRef(kArrivals).take_front(arrivals)) {
      std::string source = sourceOf(sample, "f32", arrival);
      if (computationOf(*differentiate(*context, source, options.recipe, false)) ==
          computationOf(*differentiate(*context, source, options.recipe, true)))
        continue;
      ProgramOptions casts = options;
      casts.castsFirst = true;
      Gradients ours = gradientsOf(*context, sample, "f32", arrival, narrow, options);
      Gradients theirs = gradientsOf(*context, sample, "f32", arrival, narrow, casts);
      // What only one order rounds may then be cubed (the result of rsqrt, saved).
      double bound = 3 * opsOf(sample);
      for (auto &[name, values] : ours)
        EXPECT_LE(roundingsBetween(values, theirs[name], largestOf(values), GetParam()), bound)
            << name << "\n"
            << source;
    }
}

/// One value with three readers, whose contributions are 2^k, 1 and 1: where numbers lie 2 apart,
/// adding them up in 16 bits gives 2^k, in f32 2^k + 2.
TEST_P(EveryOp, AddsUpContributionsInF32) {
  double first = GetParam().halfType == "fp16" ? 2048 : 256;
  std::string type = "1x1xf32";
  std::string body = "%c = arith.constant dense<" + std::to_string(first) + "> : " + tensor(type) +
                     "\n" + typed("%x = train.neg %p {train.category = 0 : i32}", {type}, type) +
                     typed("%a = train.abs %x", {type}, type) +
                     typed("%b = train.relu %x", {type}, type) +
                     typed("%m = train.mul %x, %c", {type, type}, type) +
                     typed("%s = train.add %a, %b", {type, type}, type) +
                     typed("%y = train.add %m, %s", {type, type}, type);
  Program program(*context, forward({parameter("p", type)}, body, type), options);
  program.setParameter("p", std::vector<double>{-1});
  program.running().run(HS_INIT);
  program.run();
  EXPECT_EQ(program.gradient("p")[0], -(first + 2));
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryOp,
                         testing::Values(Mode{"autocast", "fp16"}, Mode{"autocast", "bf16"},
                                         Mode{"half-grad", "fp16"}, Mode{"half-grad", "bf16"},
                                         Mode{"half", "fp16"}, Mode{"half", "bf16"}),
                         [](const auto &info) { return nameOf(info.param); });

//===----------------------------------------------------------------------===//
// Against f64
//===----------------------------------------------------------------------===//

/// The category of the sample's op.
train::Precision categoryOf(mlir::MLIRContext &context, const Sample &sample) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(sourceOf(sample), &context);
  std::optional<train::Precision> category;
  module->walk([&](mlir::Operation *op) {
    if (op->getName().stripDialect() == sample.op)
      category = train::categoryOf(op);
  });
  return category.value();
}

/// Roundings on the way to a gradient: an op's own, those of its operands' other users and, in f32,
/// what elementary functions are allowed.
double boundOf(train::Precision category, const Mode &mode) {
  bool isF32 = mode.precision == "fp32";
  switch (category) {
  case train::Precision::Low:
    return isF32 ? 4 : 2;
  case train::Precision::Full:
  case train::Precision::Mixed:
    return isF32 ? 8 : 2;
  case train::Precision::Widest:
    return isF32 ? 6 : 3;
  case train::Precision::Unrounded:
    return isF32 ? 2 : 1;
  }
  return 0;
}

TEST(EveryOpAndType, IsNearF64) {
  auto context = makeContext();
  const Mode modes[] = {
      {"fp32", "fp16"}, {"half-grad", "fp16"}, {"half-grad", "bf16"}, {"half", "fp16"}};
  for (const Sample &sample : samples()) {
    train::Precision category = categoryOf(*context, sample);
    // Numbers of bf16 are, in this range, numbers of f16 too.
    Gradients exact = gradientsOf(*context, sample, "f64", Arrival::Low, HS_BF16, ProgramOptions());
    double largest = 0;
    for (auto &[name, values] : exact)
      largest = std::max(largest, largestOf(values));
    double scale = std::exp2(std::floor(std::log2(64 / largest)));
    for (const Mode &mode : modes) {
      if (mode.precision == "half" && category != train::Precision::Full)
        continue; // elsewhere it computes what half-grad does
      ProgramOptions options = optionsFor(mode);
      options.recipe.lossScale = llvm::formatv("{0:e20}", scale);
      Gradients gradients = gradientsOf(*context, sample, "f32", Arrival::Low, HS_BF16, options);
      for (auto &[name, values] : gradients) {
        for (double &value : values)
          value /= scale;
        EXPECT_LE(roundingsBetween(values, exact[name], largest, mode),
                  boundOf(category, mode) * opsOf(sample))
            << nameOf(mode) << ", " << name << "\n"
            << sourceOf(sample, "f32", Arrival::Low);
      }
    }
  }
}
} // namespace

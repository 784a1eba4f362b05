//===- gradient_test.cpp - Every rule against finite differences ----------===//
//
// Every differentiable op of the registered train dialect, all operands, in f64 and compiled: the
// gradient that a training step computes against central differences of the loss that it computes.
// With h = 1e-5 the truncation error is of the order h^2 and the rounding error of the order
// 1e-16 / h, both far below the bound of 1e-6 relative to the largest component.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "SampleProgram.h"
#include "ir/TrainDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace halfstep;

namespace {
constexpr double kStep = 1e-5, kBound = 1e-6;

/// The largest difference between the gradient and finite differences, relative to the largest
/// component of the operand's gradient.
double worstError(mlir::MLIRContext &context, const Sample &sample,
                  const ProgramOptions &options = {}) {
  Program program(context, sourceOf(sample), options);
  std::vector<std::pair<std::string, std::vector<double>>> differentiated;
  for (auto &[name, isDifferentiated, values] : drawParameters(sample)) {
    program.setParameter(name, values);
    if (isDifferentiated)
      differentiated.emplace_back(name, values);
  }
  program.run();
  std::vector<std::vector<double>> gradients;
  for (auto &[name, values] : differentiated)
    gradients.push_back(program.gradient(name));
  double worst = 0;
  for (size_t p = 0; p < differentiated.size(); ++p) {
    auto &[name, values] = differentiated[p];
    double scale = 0, difference = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double value = values[i];
      auto lossAt = [&](double moved) {
        values[i] = moved;
        program.setParameter(name, values);
        return program.run();
      };
      double expected = (lossAt(value + kStep) - lossAt(value - kStep)) / (2 * kStep);
      lossAt(value);
      scale = std::max(scale, std::abs(expected));
      difference = std::max(difference, std::abs(gradients[p][i] - expected));
      if (std::isnan(gradients[p][i]))
        return INFINITY;
    }
    worst = std::max(worst, difference / std::max(scale, 1e-3));
  }
  return worst;
}

TEST(Gradients, MatchFiniteDifferences) {
  auto context = makeContext();
  for (const Sample &sample : samples())
    EXPECT_LE(worstError(*context, sample), kBound) << sample.body;
}

/// In the layout that costs less, which the test above has, and in both others.
TEST(Gradients, MatchFiniteDifferencesInEveryLayout) {
  auto context = makeContext();
  unsigned windows = 0;
  for (const Sample &sample : samples()) {
    if (sample.family != "window" && sample.family != "convolution")
      continue;
    ++windows;
    for (Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
      ProgramOptions options;
      options.layout = layout;
      EXPECT_LE(worstError(*context, sample, options), kBound) << sample.body;
    }
  }
  EXPECT_GE(windows, 4u);
}

TEST(Gradients, EveryDifferentiableOpHasASample) {
  auto context = makeContext();
  std::set<std::string> sampled;
  for (const Sample &sample : samples())
    sampled.insert("train." + sample.op);
  unsigned differentiable = 0;
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations()) {
    if (!name.hasInterface<train::GradientOpInterface>())
      continue;
    ++differentiable;
    EXPECT_TRUE(sampled.count(name.getStringRef().str()))
        << name.getStringRef().str() << " has a gradient rule and no sample";
  }
  EXPECT_GE(differentiable, 48u);
}

/// A rule that is off by one part in ten thousand, in each family, is caught.
TEST(Gradients, ABrokenRuleIsCaught) {
  auto context = makeContext();
  std::set<std::string> families;
  for (const Sample &sample : samples()) {
    if (!families.insert(sample.family).second)
      continue;
    auto breakRule = [](mlir::ModuleOp module) {
      bool broken = false;
      module.walk([&](train::AdjointOp adjoint) {
        auto argument = mlir::dyn_cast<mlir::BlockArgument>(adjoint.getPrimal());
        if (!argument || argument.getArgNumber() != 0)
          return;
        mlir::ImplicitLocOpBuilder b(adjoint.getLoc(), adjoint);
        train::Expr contribution{adjoint.getContributions()[0], &b};
        adjoint->setOperand(0, (contribution * 1.0001).value);
        broken = true;
      });
      ASSERT_TRUE(broken);
    };
    ProgramOptions options;
    options.edit = breakRule;
    EXPECT_GT(worstError(*context, sample, options), kBound) << sample.body;
  }
  EXPECT_EQ(families.size(), 10u);
}
} // namespace

//===- gradient_test.cpp - Every rule against finite differences ----------===//
//
// Every differentiable op of the registered train dialect, all operands, in f64 and compiled: the
// gradient that a training step computes against central differences of the loss that it computes.
// With h = 1e-5 the truncation error is of the order h^2 and the rounding error of the order
// 1e-16 / h, both far below the bound of 1e-6 relative to the largest component.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Samples.h"
#include "ir/TrainDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

using namespace halfstep;

namespace {
constexpr double kStep = 1e-5, kBound = 1e-6;

int64_t elements(const std::string &type) {
  int64_t count = 1;
  for (size_t at = 0, next; (next = type.find('x', at)) != std::string::npos; at = next + 1)
    count *= std::stoll(type.substr(at, next - at));
  return count;
}

bool isDifferentiated(const Operand &operand) {
  return operand.domain != Domain::Ids && operand.domain != Domain::Flags &&
         operand.domain != Domain::Fixed;
}

/// The sample as a function of parameters, its result weighted so that no two elements have the
/// same adjoint, and summed by the loss.
std::string sourceOf(const Sample &sample) {
  std::string arguments;
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    std::string name = std::to_string(i);
    arguments += "%" + name + ": tensor<" + sample.operands[i].type + "> {train.parameter = \"p" +
                 name + "\"" + (isDifferentiated(sample.operands[i]) ? ", train.trainable" : "") +
                 "}, ";
  }
  std::string result = "tensor<" + sample.result + ">";
  return "func.func @forward(" + arguments + "%weights: " + result +
         " {train.parameter = \"weights\", train.trainable}) -> (" + result +
         " {train.output = \"y\"}) {\n" + sample.body + "\n%z = train.mul %y, %weights : (" +
         result + ", " + result + ") -> " + result + "\nreturn %z : " + result + "\n}\n";
}

std::vector<double> draw(Domain domain, int64_t count, std::mt19937_64 &random) {
  std::uniform_real_distribution<double> size(0.1, 2), positive(0.5, 2);
  std::bernoulli_distribution negative;
  std::vector<double> values(count);
  for (double &value : values)
    value = domain == Domain::Positive ? positive(random)
                                       : size(random) * (negative(random) ? -1 : 1);
  if (domain == Domain::Spread) {
    std::iota(values.begin(), values.end(), 0.0);
    for (double &value : values)
      value = 0.1 * value - 1;
    std::shuffle(values.begin(), values.end(), random);
  }
  return values;
}

/// The largest difference between the gradient and finite differences, relative to the largest
/// component of the operand's gradient.
double worstError(mlir::MLIRContext &context, const Sample &sample,
                  std::function<void(mlir::ModuleOp)> edit = {}) {
  ProgramOptions options;
  options.edit = edit;
  Program program(context, sourceOf(sample), options);
  std::mt19937_64 random(7);
  std::vector<std::pair<std::string, std::vector<double>>> differentiated;
  auto set = [&](const std::string &name, const Operand &operand) {
    int64_t count = elements(operand.type);
    if (isDifferentiated(operand)) {
      differentiated.emplace_back(name, draw(operand.domain, count, random));
      program.setParameter(name, differentiated.back().second);
    } else if (operand.domain == Domain::Fixed) {
      program.setParameter(name, draw(operand.domain, count, random));
    } else if (operand.domain == Domain::Ids) {
      std::vector<int64_t> ids(count);
      for (int64_t i = 0; i < count; ++i)
        ids[i] = (i * 2 + 1) % 5;
      program.setParameter(name, ids.data());
    } else {
      std::vector<uint8_t> flags(count);
      for (int64_t i = 0; i < count; ++i)
        flags[i] = i % 3 == 0;
      program.setParameter(name, flags.data());
    }
  };
  for (size_t i = 0; i < sample.operands.size(); ++i)
    set("p" + std::to_string(i), sample.operands[i]);
  set("weights", {sample.result});

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
  EXPECT_GE(differentiable, 31u);
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
    EXPECT_GT(worstError(*context, sample, breakRule), kBound) << sample.body;
  }
  EXPECT_EQ(families.size(), 8u);
}
} // namespace

//===- accumulator_test.cpp - No kernel adds up in 16 bits ----------------===//
//
// Every case in every layout that it has. A second test entry runs this with oneDNN held to AVX2,
// where 16-bit products are widened.
//
//===----------------------------------------------------------------------===//

#include "AccumulatorCases.h"
#include "Program.h"
#include "Source.h"
#include "runtime/Types.h"
#include <gtest/gtest.h>

using namespace halfstep;

void PrintTo(const Case &sample, std::ostream *os) { *os << sample.name; }

namespace {
class Accumulator : public testing::TestWithParam<Case> {};

void check(const Case &sample, Layout layout) {
  SCOPED_TRACE("layout " + std::to_string(int(layout)));
  bool differentiates = !sample.gradientOf.empty();
  std::vector<std::string> arguments;
  for (auto &[name, type] : sample.operands)
    arguments.push_back(parameter(name, type, /*isTrainable=*/name[0] == 'p'));
  ProgramOptions options = differentiates ? ProgramOptions() : ProgramOptions::forwardOnly();
  options.layout = layout;
  if (differentiates) {
    // The loss is the mean over y: its scale makes up for the division.
    double elements = 1;
    for (size_t at = 0, next; (next = sample.result.find('x', at)) != std::string::npos;
         at = next + 1)
      elements *= std::stod(sample.result.substr(at, next - at));
    options.recipe.precision = "half-grad";
    options.recipe.lossScale = std::to_string(int64_t(sample.seed * elements));
  }
  auto context = makeContext();
  Program program(*context, forward(arguments, sample.body, sample.result), options);
  runtime::Session &session = program.running();
  for (auto &[name, type] : sample.operands) {
    auto value = sample.values.find(name);
    size_t count = runtime::elementCount(*session.find(HS_PARAMETER, name));
    program.setParameter(
        name, std::vector<double>(count, value == sample.values.end() ? 1 : value->second));
  }
  session.run(HS_INIT);
  std::vector<double> results;
  if (differentiates) {
    program.run();
    results = program.gradient(sample.gradientOf);
    if (sample.name == "AveragePoolGradient")
      results = {results[results.size() / 2]};
  } else {
    session.infer();
    const hs_tensor &y = *session.find(HS_OUTPUT, "y");
    results.resize(runtime::elementCount(y));
    runtime::convert(session.data(y), hs_type(y.type), results.data(), HS_F64, results.size());
  }
  for (double result : results)
    ASSERT_NEAR(result, sample.expected, sample.tolerance);
}

TEST_P(Accumulator, IsF32) {
  const Case &sample = GetParam();
  auto has = [&](const char *op) { return sample.body.find(op) != std::string::npos; };
  if (!has("train.conv") && !has("_pool"))
    return check(sample, Layout::ByCost);
  check(sample, Layout::ChannelsFirst);
  check(sample, Layout::ChannelsLast);
}

auto nameOf = [](const auto &info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Reduction, Accumulator, testing::ValuesIn(reductions()), nameOf);
INSTANTIATE_TEST_SUITE_P(Product, Accumulator, testing::ValuesIn(products()), nameOf);
INSTANTIATE_TEST_SUITE_P(Adjoint, Accumulator, testing::ValuesIn(adjoints()), nameOf);

/// The norm of all gradients, of a vector of 300s: squares beyond f16, and f32 sums of them.
TEST(GradientNorm, OfThreeHundredsIsFinite) {
  auto context = makeContext();
  ProgramOptions options;
  options.recipe.precision = "half-grad";
  options.recipe.clipNorm = 1;
  options.recipe.lossScale = std::to_string(300 * 4096);
  std::string type = "4096xf32";
  Program program(*context,
                  forward({parameter("w", type)}, typed("%y = train.neg %w", {type}, type), type),
                  options);
  program.setParameter("w", std::vector<double>(4096, 1));
  program.running().run(HS_INIT);
  program.run();
  EXPECT_EQ(program.gradient("w")[0], -300);
  program.running().update();
  runtime::Record record = program.running().record(0);
  EXPECT_FALSE(record.skipped);
  EXPECT_NEAR(record.gradNorm, 64.0 / 4096, 1e-9); // unscaled: sqrt(4096) * 1 / 4096
}
} // namespace

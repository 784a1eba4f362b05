//===- accumulator_test.cpp - No kernel adds up in 16 bits ----------------===//
//
// A running f16 sum of ones sticks at 2048, and of equal numbers at 2048 times the number: every
// sum of this test is far beyond that, and exact in f32. One case for each way in which a kernel of
// ours or a library adds up, in every layout that it has. A second test entry runs this with oneDNN
// held to AVX2, where 16-bit products are widened.
//
// Where the result is f16 it has to be an f16 number: 69,632 = 17 * 2^12 times 2^-5 is 2176.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "runtime/Session.h"
#include "runtime/Types.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace halfstep;

namespace {
struct Case {
  std::string name;
  std::string result;                                        // type of %y
  std::vector<std::pair<std::string, std::string>> operands; // name and type; p... are trained
  std::string body;                                          // defines %y
  std::map<std::string, double> values = {};                 // of all elements; 1 where not given
  double expected = 70000;
  double tolerance = 0;
  double seed = 0;             // the adjoint of each element of y; 0: y itself is looked at
  std::string gradientOf = ""; // which is then expected
};

void PrintTo(const Case &sample, std::ostream *os) { *os << sample.name; }

std::string typed(const std::string &op, const std::vector<std::string> &operands,
                  const std::string &result) {
  std::string text = op + " : (";
  for (const std::string &operand : operands)
    text += (&operand == &operands[0] ? "tensor<" : ", tensor<") + operand + ">";
  return text + ") -> tensor<" + result + ">\n";
}

/// The sum of %x over `axes` as an f32.
Case sumOf(const std::string &name, const std::string &x, const std::string &axes,
           const std::string &result, double value = 1, double expected = 70000) {
  std::string wide = x.substr(0, x.rfind('x') + 1) + "f32";
  return {name,
          result,
          {{"x", x}},
          typed("%c = train.cast %x to f32", {x}, wide) +
              typed("%y = train.sum %c {axes = array<i64: " + axes + ">}", {wide}, result),
          {{"x", value}},
          expected};
}

std::vector<Case> reductions() {
  std::vector<Case> cases = {sumOf("RowsUnsplit", "80x70000xf16", "1", "80x1xf32"),
                             sumOf("RowsSplit", "2x70000xf16", "1", "2x1xf32"),
                             sumOf("RowsOfBF16", "2x70000xbf16", "1", "2x1xf32"),
                             sumOf("Columns", "70000x3xf16", "0", "1x3xf32"),
                             sumOf("ColumnsOfOneChunk", "512x3xf16", "0", "1x3xf32", 200, 102400),
                             sumOf("ColumnsOfABatch", "2x35000x3xf16", "1", "2x1x3xf32", 2),
                             sumOf("All", "280x250xf16", "0, 1", "1x1xf32"),
                             sumOf("OuterAndInner", "280x3x250xf16", "0, 2", "1x3x1xf32")};
  cases.push_back(
      {"Transposed",
       "3x1xf32",
       {{"x", "70000x3xf16"}},
       typed("%t = train.transpose %x {permutation = array<i64: 1, 0>}", {"70000x3xf16"},
             "3x70000xf16") +
           typed("%c = train.cast %t to f32", {"3x70000xf16"}, "3x70000xf32") +
           typed("%y = train.sum %c {axes = array<i64: 1>}", {"3x70000xf32"}, "3x1xf32")});
  for (auto [name, x, axis, result] :
       {std::tuple{"MeanOfRows", "2x70000xf16", "1", "2x1xf16"},
        {"MeanOfColumns", "70000x3xf16", "0", "1x3xf16"},
        {"MeanOfAll", "512x512xf16", "0, 1", "1x1xf16"},
        {"GlobalAveragePool", "2x3x300x250xf16", "2, 3", "2x3x1x1xf16"}})
    cases.push_back(
        {name,
         result,
         {{"x", x}},
         typed(std::string("%y = train.mean %x {axes = array<i64: ") + axis + ">}", {x}, result),
         {{"x", 65504}},
         65504});
  // Divided before it is added up, each term would be zero in f16.
  cases.push_back(
      {"MeanOfSmall",
       "1x1xf16",
       {{"x", "1024x1024xf16"}},
       typed("%y = train.mean %x {axes = array<i64: 0, 1>}", {"1024x1024xf16"}, "1x1xf16"),
       {{"x", 0x1p-13}},
       0x1p-13});
  // The identities of maxima are below all numbers.
  for (auto [name, x, axis, result] : {std::tuple{"MaxOfRows", "3x33xf16", "1", "3x1xf16"},
                                       {"MaxOfColumns", "33x3xf16", "0", "1x3xf16"}})
    cases.push_back(
        {name,
         result,
         {{"x", x}},
         typed(std::string("%y = train.max %x {axes = array<i64: ") + axis + ">}", {x}, result),
         {{"x", -5}},
         -5});
  cases.push_back({"SoftmaxOfNegatives",
                   "1x32xf16",
                   {{"x", "1x32xf16"}},
                   typed("%y = train.softmax %x {axis = 1 : i64}", {"1x32xf16"}, "1x32xf16"),
                   {{"x", -5}},
                   0x1p-5});
  for (std::string op : {"softmax", "log_softmax"})
    for (auto [name, type, axis] :
         {std::tuple{"Rows", "2x1024xf16", "1"}, {"Columns", "1024x3xf16", "0"}})
      cases.push_back({op + name,
                       type,
                       {{"x", type}},
                       typed("%y = train." + op + " %x {axis = " + axis + " : i64}", {type}, type),
                       {{"x", 65504}},
                       op == "softmax" ? 0x1p-10 : -10 * std::log(2),
                       1e-2});
  // A row of equal numbers deviates by nothing, which leaves the bias.
  for (auto [name, x] :
       {std::pair{"LayerNorm", "2x70001xf16"}, {"LayerNormUnsplit", "80x10007xf16"}}) {
    std::string scale = std::string(x).substr(std::string(x).find('x') + 1);
    cases.push_back(
        {name,
         x,
         {{"x", x}, {"scale", scale}, {"bias", scale}},
         typed("%y = train.normalise %x, %scale, %bias {axes = array<i64: 1>, epsilon = "
               "1.0e-5 : f64}",
               {x, scale, scale}, x),
         {{"x", 65504}, {"bias", 0.5}},
         0.5});
  }
  for (auto [op, expected] : {std::pair{"mse_loss", 70000.0}, {"mse_loss_mean", 1}})
    cases.push_back({op,
                     "f32",
                     {{"x", "70000x1xf16"}, {"t", "70000x1xf16"}},
                     typed("%c = train.cast %x to f32", {"70000x1xf16"}, "70000x1xf32") +
                         typed("%d = train.cast %t to f32", {"70000x1xf16"}, "70000x1xf32") +
                         typed(std::string("%y = train.mse_loss %c, %d {reduction = ") +
                                   (expected == 1 ? "0" : "1") + " : i32}",
                               {"70000x1xf32", "70000x1xf32"}, "f32"),
                     {{"t", 2}},
                     expected});
  cases.push_back(
      {"CrossEntropyLoss",
       "f32",
       {{"x", "70000x2xf16"}, {"t", "70000x2xf16"}},
       typed("%c = train.cast %x to f32", {"70000x2xf16"}, "70000x2xf32") +
           typed("%d = train.cast %t to f32", {"70000x2xf16"}, "70000x2xf32") +
           typed("%y = train.cross_entropy %c, %d {axis = 1 : i64, reduction = 1 : i32}",
                 {"70000x2xf32", "70000x2xf32"}, "f32"),
       {{"t", 0.5}},
       70000 * std::log(2),
       0.05});
  return cases;
}

std::vector<Case> products() {
  std::vector<Case> cases;
  struct Shapes {
    const char *name, *a, *b, *flags, *result;
  };
  for (auto &s : std::vector<Shapes>{
           {"Gemm", "4x69632xf16", "69632x5xf16", "", "4x5xf16"},
           {"GemmTransA", "69632x4xf16", "69632x5xf16", "{transA = true}", "4x5xf16"},
           {"GemmTransB", "4x69632xf16", "5x69632xf16", "{transB = true}", "4x5xf16"},
           {"GemmOfBF16", "4x69632xbf16", "69632x5xbf16", "", "4x5xbf16"},
           {"GemmVector", "1x69632xf16", "69632x1xf16", "", "1x1xf16"},
           {"GemmBatched", "3x4x69632xf16", "3x69632x5xf16", "", "3x4x5xf16"}})
    cases.push_back(
        {s.name,
         s.result,
         {{"a", s.a}, {"b", s.b}},
         typed(std::string("%y = train.matmul %a, %b ") + s.flags, {s.a, s.b}, s.result),
         {{"b", 0x1p-5}},
         2176});
  for (std::string flags : {"", "{transB = true}"})
    cases.push_back(
        {flags.empty() ? "GeneratedProduct" : "GeneratedProductTransB",
         "1x1xf16",
         {{"a", "1x32768xf16"}, {"b", flags.empty() ? "32768x1xf16" : "1x32768xf16"}},
         typed("%y = train.matmul %a, %b " + flags,
               {"1x32768xf16", flags.empty() ? "32768x1xf16" : "1x32768xf16"}, "1x1xf16"),
         {{"b", 0x1p-4}},
         2048});
  // 4352 channels of 4 x 4 are 69,632 products.
  cases.push_back({"Conv",
                   "1x2x2x2xf16",
                   {{"x", "1x4352x5x5xf16"}, {"w", "2x4352x4x4xf16"}},
                   typed("%y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = "
                         "array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}",
                         {"1x4352x5x5xf16", "2x4352x4x4xf16"}, "1x2x2x2xf16"),
                   {{"w", 0x1p-5}},
                   2176});
  // One window of all, next to a convolution of one point, so that either layout has it.
  cases.push_back({"WholeAveragePool",
                   "1x16x1x1xf16",
                   {{"x", "1x16x280x250xf16"}, {"w", "16x16x1x1xf16"}},
                   typed("%c = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = "
                         "array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}",
                         {"1x16x280x250xf16", "16x16x1x1xf16"}, "1x16x280x250xf16") +
                       typed("%y = train.average_pool %c {kernel = array<i64: 280, 250>, strides = "
                             "array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, "
                             "0, 0, 0>, countedPads = array<i64: 0, 0, 0, 0>}",
                             {"1x16x280x250xf16"}, "1x16x1x1xf16"),
                   {{"x", 4094}},
                   65504});
  cases.push_back({"AveragePool",
                   "1x1x65905xf16",
                   {{"x", "1x1x70000xf16"}},
                   typed("%y = train.average_pool %x {kernel = array<i64: 4096>, strides = "
                         "array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, "
                         "countedPads = array<i64: 0, 0>}",
                         {"1x1x70000xf16"}, "1x1x65905xf16"),
                   {{"x", 65504}},
                   65504});
  return cases;
}

/// Under half-grad; every element of the result has the same adjoint.
std::vector<Case> adjoints() {
  std::string linear =
      typed("%m = train.matmul %x, %pw", {"69632x4xf32", "4x3xf32"}, "69632x3xf32") +
      typed("%y = train.add %m, %pb {train.category = 0 : i32}", {"69632x3xf32", "3xf32"},
            "69632x3xf32");
  std::vector<std::pair<std::string, std::string>> operands = {
      {"x", "69632x4xf32"}, {"pw", "4x3xf32"}, {"pb", "3xf32"}};
  std::string conv = "{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: "
                     "0, 0, 0, 0>, groups = 1 : i64}";
  return {
      {"WeightGradient", "69632x3xf32", operands, linear, {}, 2176, 0, 0x1p-5, "pw"},
      {"BiasGradient", "69632x3xf32", operands, linear, {}, 2176, 0, 0x1p-5, "pb"},
      {"BroadcastAdjoint",
       "69632x3xf32",
       {{"pb", "3xf32"}},
       typed("%e = train.broadcast %pb {sizes = array<i64: 69632, 3>}", {"3xf32"}, "69632x3xf32") +
           typed("%y = train.neg %e", {"69632x3xf32"}, "69632x3xf32"),
       {},
       -2176,
       0,
       0x1p-5,
       "pb"},
      {"ConvWeightGradient",
       "17x2x64x64xf32",
       {{"x", "17x1x66x66xf32"}, {"pw", "2x1x3x3xf32"}},
       typed("%y = train.conv %x, %pw " + conv, {"17x1x66x66xf32", "2x1x3x3xf32"},
             "17x2x64x64xf32"),
       {},
       2176,
       0,
       0x1p-5,
       "pw"},
      {"ConvInputGradient",
       "1x69632x1x1xf32",
       {{"px", "1x1x4x4xf32"}, {"w", "69632x1x4x4xf32"}},
       typed("%y = train.conv %px, %w " + conv, {"1x1x4x4xf32", "69632x1x4x4xf32"},
             "1x69632x1x1xf32"),
       {},
       2176,
       0,
       0x1p-5,
       "px"},
      // The element in the middle is in every window.
      {"AveragePoolGradient",
       "1x1x4096xf32",
       {{"px", "1x1x8191xf32"}},
       typed("%y = train.average_pool %px {kernel = array<i64: 4096>, strides = array<i64: 1>, "
             "dilations = array<i64: 1>, pads = array<i64: 0, 0>, countedPads = array<i64: 0, 0>}",
             {"1x1x8191xf32"}, "1x1x4096xf32"),
       {},
       1,
       0,
       1,
       "px"}};
}

class Accumulator : public testing::TestWithParam<Case> {};

void check(const Case &sample, Layout layout) {
  SCOPED_TRACE("layout " + std::to_string(int(layout)));
  bool differentiates = !sample.gradientOf.empty();
  std::string arguments;
  for (auto &[name, type] : sample.operands)
    arguments += (arguments.empty() ? "%" : ", %") + name + ": tensor<" + type +
                 "> {train.parameter = \"" + name + "\"" +
                 (name[0] == 'p' ? ", train.trainable" : "") + "}";
  std::string source = "func.func @forward(" + arguments + ") -> (tensor<" + sample.result +
                       "> {train.output = \"y\"}) {\n" + sample.body + "return %y : tensor<" +
                       sample.result + ">\n}\n";
  ProgramOptions options;
  options.layout = layout;
  if (differentiates) {
    // The loss is the mean over y: its scale makes up for the division.
    double elements = 1;
    for (size_t at = 0, next; (next = sample.result.find('x', at)) != std::string::npos;
         at = next + 1)
      elements *= std::stod(sample.result.substr(at, next - at));
    options.recipe.precision = "half-grad";
    options.recipe.lossScale = std::to_string(int64_t(sample.seed * elements));
  } else {
    options.recipe.loss = options.recipe.optimizer = "";
  }
  auto context = makeContext();
  Program program(*context, source, options);
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
  Program program(
      *context,
      "func.func @forward(%w: tensor<4096xf32> {train.parameter = \"w\", "
      "train.trainable}) -> (tensor<4096xf32> {train.output = \"y\"}) {\n%y = train.neg "
      "%w : (tensor<4096xf32>) -> tensor<4096xf32>\nreturn %y : tensor<4096xf32>\n}\n",
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

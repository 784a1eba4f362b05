//===- AccumulatorCases.cpp - Sums beyond what 16 bits can add up ---------===//

#include "AccumulatorCases.h"
#include "Source.h"
#include <cmath>

/// One op on %x, all of whose elements are `value`.
static Case alone(const std::string &name, const std::string &op, const std::string &x,
                  const std::string &result, double value, double expected, double tolerance = 0) {
  return {name,           result,   {{"x", x}}, typed("%y = train." + op, {x}, result),
          {{"x", value}}, expected, tolerance};
}

/// The sum of %x over `axes` as an f32.
static Case sumOf(const std::string &name, const std::string &x, const std::string &axes,
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
  for (auto [name, x, axes, result] :
       {std::tuple{"MeanOfRows", "2x70000xf16", "1", "2x1xf16"},
        {"MeanOfColumns", "70000x3xf16", "0", "1x3xf16"},
        {"MeanOfAll", "512x512xf16", "0, 1", "1x1xf16"},
        {"GlobalAveragePool", "2x3x300x250xf16", "2, 3", "2x3x1x1xf16"}})
    cases.push_back(alone(name, "mean %x {axes = " + array(axes) + "}", {x}, result, 65504, 65504));
  // Divided before it is added up, each term would be zero in f16.
  cases.push_back(alone("MeanOfSmall", "mean %x {axes = " + array("0, 1") + "}", "1024x1024xf16",
                        "1x1xf16", 0x1p-13, 0x1p-13));
  // The identities of maxima are below all numbers.
  cases.push_back(
      alone("MaxOfRows", "max %x {axes = " + array("1") + "}", "3x33xf16", "3x1xf16", -5, -5));
  cases.push_back(
      alone("MaxOfColumns", "max %x {axes = " + array("0") + "}", "33x3xf16", "1x3xf16", -5, -5));
  cases.push_back(alone("SoftmaxOfNegatives", "softmax %x {axis = 1 : i64}", "1x32xf16", "1x32xf16",
                        -5, 0x1p-5));
  for (std::string op : {"softmax", "log_softmax"})
    for (auto [name, type, axis] :
         {std::tuple{"Rows", "2x1024xf16", "1"}, {"Columns", "1024x3xf16", "0"}})
      cases.push_back(alone(op + name, op + " %x {axis = " + axis + " : i64}", type, type, 65504,
                            op == "softmax" ? 0x1p-10 : -10 * std::log(2), 1e-2));
  // A row of equal numbers deviates by nothing, which leaves the bias.
  for (auto [name, x] :
       {std::pair{"LayerNorm", "2x70001xf16"}, {"LayerNormUnsplit", "80x10007xf16"}}) {
    std::string scale = std::string(x).substr(std::string(x).find('x') + 1);
    cases.push_back({name,
                     x,
                     {{"x", x}, {"scale", scale}, {"bias", scale}},
                     typed("%y = train.normalise %x, %scale, %bias {axes = array<i64: 1>, epsilon "
                           "= 1.0e-5 : f64}",
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
  cases.push_back(alone("AveragePool",
                        "average_pool %x {kernel = array<i64: 4096>, strides = array<i64: 1>, "
                        "dilations = array<i64: 1>, pads = array<i64: 0, 0>, "
                        "countedPads = array<i64: 0, 0>}",
                        "1x1x70000xf16", "1x1x65905xf16", 65504, 65504));
  return cases;
}

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

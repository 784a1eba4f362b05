//===- metamorphic_test.cpp - Ways to compile that must not matter --------===//
//
// A small classifier trains for some steps in every precision mode. Fusion and memory reuse must
// not show in a single bit; micro-batches must only reorder a sum.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Source.h"
#include "runtime/Session.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace halfstep;

namespace {
constexpr int64_t kBatch = 8, kInputs = 33, kHidden = 40, kClasses = 10;

using Sizes = std::initializer_list<int64_t>;

std::string shape(Sizes sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + "f32";
}

/// Two layers with `between` between them, which makes %h of %1. Their biases are added as the
/// importer adds those of Gemm: in the product's category.
std::string layers(int64_t batch, const std::string &between) {
  std::string x = shape({batch, kInputs}), h = shape({batch, kHidden}),
              y = shape({batch, kClasses});
  std::string w1 = shape({kHidden, kInputs}), b1 = shape({kHidden}),
              w2 = shape({kClasses, kHidden}), b2 = shape({kClasses});
  return forward({input("x", x), parameter("w1", w1), parameter("b1", b1), parameter("w2", w2),
                  parameter("b2", b2)},
                 typed("%0 = train.matmul %x, %w1 {transB = true}", {x, w1}, h) +
                     typed("%1 = train.add %0, %b1 {train.category = 0 : i32}", {h, b1}, h) +
                     between + typed("%2 = train.matmul %h, %w2 {transB = true}", {h, w2}, y) +
                     typed("%y = train.add %2, %b2 {train.category = 0 : i32}", {y, b2}, y),
                 y);
}

std::string plainNetwork(int64_t batch) {
  std::string h = shape({batch, kHidden});
  return layers(batch,
                typed("%t = train.tanh %1", {h}, h) + typed("%h = train.mul %t, %1", {h, h}, h));
}

std::string networkWithDropout(int64_t batch) {
  std::string h = shape({batch, kHidden}), sizes = std::to_string(batch),
              hidden = std::to_string(kHidden), bits = sizes + "x" + hidden + "xi32";
  return layers(
      batch, "%bits = train.random_bits 0 in [" + joined({sizes, hidden}) + "] : " + tensor(bits) +
                 "\n" + typed("%h = train.dropout %1, %bits {ratio = 0.25 : f64}", {h, bits}, h));
}

/// A gated layer: its halves are taken apart, put together in another order and backwards, spread
/// among padding, and added to a product with a part of the weights.
std::string networkOfParts(int64_t batch) {
  constexpr int64_t half = kHidden / 2;
  std::string x = shape({batch, kInputs}), h = shape({batch, kHidden}), p = shape({batch, half}),
              w1 = shape({kHidden, kInputs}), w = shape({half, kInputs}), n = std::to_string(batch);
  auto place = [](const std::string &offsets, const std::string &strides,
                  const std::string &sizes) {
    return " {offsets = " + array(offsets) + ", strides = " + array(strides) +
           ", sizes = " + array(sizes) + "}";
  };
  return layers(
      batch, typed("%a = train.slice %1" + place("0, 0", "1, 1", n + ", 20"), {h}, p) +
                 typed("%b = train.slice %1" + place("0, 20", "1, 1", n + ", 20"), {h}, p) +
                 typed("%g = train.sigmoid %a", {p}, p) + typed("%v = train.tanh %b", {p}, p) +
                 typed("%m = train.mul %g, %v", {p, p}, p) +
                 typed("%r = train.slice %m" + place("0, 19", "1, -1", n + ", 20"), {p}, p) +
                 typed("%j = train.concat %r, %m {axis = 1 : i64}", {p, p}, h) +
                 "%c = arith.constant dense<0.5> : tensor<f32>\n" +
                 typed("%s = train.pad %m, %c" + place("0, 1", "1, 2", n + ", 40"), {p, "f32"}, h) +
                 typed("%w = train.slice %w1" + place("20, 0", "1, 1", "20, 33"), {w1}, w) +
                 typed("%q = train.matmul %x, %w {transB = true}", {x, w}, p) +
                 typed("%k = train.concat %q, %b {axis = 1 : i64}", {p, p}, h) +
                 typed("%t = train.add %j, %s", {h, h}, h) +
                 typed("%h = train.add %t, %k", {h, h}, h));
}

/// Images between the layers: a convolution with filters that are a part of the weights, the
/// maximum of windows, and a norm.
std::string networkOfImages(int64_t batch) {
  std::string h = shape({batch, kHidden}), x = shape({batch, 2, 4, 5}), c = shape({batch, 4, 4, 5}),
              y = shape({batch, 4, 2, 5}), w = shape({kHidden, kInputs}), part = shape({8, 9}),
              filters = shape({4, 2, 3, 3}), b = shape({kHidden}), n = std::to_string(batch);
  auto reshaped = [](const std::string &name, const std::string &sizes) {
    return name + " {sizes = " + array(sizes) + "}";
  };
  std::string pads = array("1, 1, 1, 1"), one = array("1, 1");
  return layers(batch,
                typed(reshaped("%x0 = train.reshape %1", n + ", 2, 4, 5"), {h}, x) +
                    typed("%part = train.slice %w1 {offsets = " + array("3, 1") +
                              ", strides = " + one + ", sizes = " + array("8, 9") + "}",
                          {w}, part) +
                    typed(reshaped("%f = train.reshape %part", "4, 2, 3, 3"), {part}, filters) +
                    typed("%c = train.conv %x0, %f {strides = " + one + ", dilations = " + one +
                              ", pads = " + pads + ", groups = 1 : i64}",
                          {x, filters}, c) +
                    typed("%r = train.relu %c", {c}, c) +
                    typed("%m = train.max_pool %r {kernel = " + array("3, 3") + ", strides = " +
                              array("2, 1") + ", dilations = " + one + ", pads = " + pads + "}",
                          {c}, y) +
                    typed(reshaped("%t = train.reshape %m", n + ", 40"), {y}, h) +
                    typed("%h = train.normalise %t, %b1, %b1 {axes = " + array("1") +
                              ", epsilon = 1.0e-5 : f64}",
                          {h, b, b}, h));
}

struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::vector<char>> parameters;
};

/// The numbers as `type` holds them.
std::vector<char> stored(const std::vector<float> &values, uint32_t type) {
  std::vector<char> bytes;
  for (float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    _Float16 half = _Float16(value);
    uint16_t upper = uint16_t(bits >> 16);
    const void *number = type == HS_F16    ? static_cast<const void *>(&half)
                         : type == HS_BF16 ? static_cast<const void *>(&upper)
                                           : &bits;
    const char *begin = static_cast<const char *>(number);
    bytes.insert(bytes.end(), begin, begin + (type == HS_F32 ? 4 : 2));
  }
  return bytes;
}

/// Trains on fixed random data for a few updates of kBatch samples.
Trained train(const ProgramOptions &options, std::string (*network)(int64_t) = plainNetwork) {
  auto context = makeContext();
  int64_t micro = kBatch / options.recipe.accumulate;
  Program program(*context, network(micro), options);
  runtime::Session &session = program.running();
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  auto draw = [&](size_t count, float scale) {
    std::vector<float> values(count);
    for (float &value : values)
      value = scale * normal(random);
    return values;
  };
  const hs_artefact &tables = session.artefact();
  Trained run;
  for (auto [name, count] : {std::pair{"w1", kHidden * kInputs},
                             {"b1", kHidden},
                             {"w2", kClasses * kHidden},
                             {"b2", kClasses}}) {
    const hs_tensor &tensor = *session.find(HS_PARAMETER, name);
    run.parameters[name] = stored(draw(count, 0.2f), tensor.type);
    session.write(tensor, run.parameters[name].data());
  }
  session.run(HS_INIT);
  for (int step = 0; step < 5; ++step) {
    auto x = draw(kBatch * kInputs, 1);
    for (float &value : x) // small integers are exact in every type
      value = std::round(value);
    std::vector<char> input = stored(x, tables.inputs[0].type);
    std::vector<int64_t> labels(kBatch);
    for (int64_t &label : labels)
      label = random() % kClasses;
    for (int64_t part = 0; part < options.recipe.accumulate; ++part) {
      session.bindInput(0, &input[part * input.size() / options.recipe.accumulate]);
      session.bindInput(1, &labels[part * micro]);
      session.micro();
    }
    session.update();
    run.losses.push_back(session.record(step).loss);
  }
  for (auto &[name, bytes] : run.parameters)
    session.read(*session.find(HS_PARAMETER, name), bytes.data());
  return run;
}

ProgramOptions optionsFor(const std::string &precision, const std::string &halfType,
                          double clipNorm = 1) {
  ProgramOptions options;
  options.recipe.loss = "cross-entropy";
  options.recipe.optimizer = "adam:lr=1e-2";
  options.recipe.precision = precision;
  options.recipe.halfType = halfType;
  options.recipe.clipNorm = clipNorm;
  options.recipe.rounding = precision == "half" ? "stochastic" : "nearest";
  return options;
}

class Metamorphic : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(Metamorphic, FusionAndReuseDoNotShow) {
  for (auto network : {plainNetwork, networkWithDropout, networkOfParts, networkOfImages}) {
    ProgramOptions options = optionsFor(GetParam().first, GetParam().second);
    Trained usual = train(options, network);
    EXPECT_TRUE(std::isfinite(usual.losses.back()));
    EXPECT_NE(usual.losses.front(), usual.losses.back());
    for (auto [fuse, reuse] : {std::pair{false, true}, {true, false}, {false, false}}) {
      options.fuse = fuse;
      options.reuse = reuse;
      Trained other = train(options, network);
      EXPECT_EQ(usual.losses, other.losses) << "fuse " << fuse << ", reuse " << reuse;
      EXPECT_EQ(usual.parameters, other.parameters) << "fuse " << fuse << ", reuse " << reuse;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Metamorphic,
                         testing::Values(std::pair{"fp32", "fp16"}, std::pair{"autocast", "fp16"},
                                         std::pair{"half-grad", "fp16"},
                                         std::pair{"half-grad", "bf16"}, std::pair{"half", "fp16"},
                                         std::pair{"half", "bf16"}));

TEST(Accumulation, FourTimesTwoIsEight) {
  ProgramOptions options = optionsFor("fp32", "fp16");
  Trained whole = train(options);
  options.recipe.accumulate = 4;
  Trained parts = train(options);
  for (size_t i = 0; i < whole.losses.size(); ++i)
    EXPECT_NEAR(whole.losses[i], parts.losses[i], 1e-6 * std::abs(whole.losses[i]));
}

/// Every parameter is unscaled once, whatever its rank.
TEST(LossScale, APowerOfTwoDoesNotShow) {
  ProgramOptions options = optionsFor("fp32", "fp16");
  Trained plain = train(options);
  options.recipe.lossScale = "1024";
  Trained scaled = train(options);
  EXPECT_EQ(plain.losses, scaled.losses);
  EXPECT_EQ(plain.parameters, scaled.parameters);
}

/// All ops pinned to f32 under half-grad: no parameter is read in 16 bits, none has a copy.
TEST(Pins, AllOfThemAreFp32) {
  Trained plain = train(optionsFor("fp32", "fp16"));
  ProgramOptions options = optionsFor("half-grad", "fp16");
  options.recipe.lossScale = "none";
  options.recipe.pin = {".*=fp32"};
  Trained pinned = train(options);
  EXPECT_EQ(plain.losses, pinned.losses);
  EXPECT_EQ(plain.parameters, pinned.parameters);
}

/// Where no parameter is used twice and nothing accumulates, half-grad is autocast: a widened
/// 16-bit gradient is the 16-bit gradient.
TEST(HalfGrad, EqualsAutocastBitForBit) {
  Trained autocast = train(optionsFor("autocast", "fp16", /*clipNorm=*/0));
  Trained halfGrad = train(optionsFor("half-grad", "fp16", /*clipNorm=*/0));
  EXPECT_EQ(autocast.losses, halfGrad.losses);
  EXPECT_EQ(autocast.parameters, halfGrad.parameters);
}
} // namespace

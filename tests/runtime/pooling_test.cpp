//===- pooling_test.cpp - Pooling against its definition --------------------------------------===//
//
// Every kind, in every type and layout, against sums in f64 over the same rounded operands; and the
// same bits on any number of threads.
//
//===------------------------------------------------------------------------------------------===//

#include "WindowTest.h"

#include <cmath>
#include <limits>

using namespace halfstep::runtime;

namespace {

struct PoolCase {
  const char *name;
  int64_t planes;
  int64_t input[3];
  Sliding sliding;
  int64_t countedFront[3] = {}, countedBehind[3] = {};
};

int64_t planesOf(const hs_pool &pool) { return pool.batch * pool.channels; }

class Pool : public testing::TestWithParam<PoolCase> {
protected:
  void check(hs_pool_kind kind, uint32_t type) const;

  hs_pool describe(hs_pool_kind kind, uint32_t type) const {
    const PoolCase &c = GetParam();
    // As many channels as divide the planes.
    int64_t batch = c.planes % 2 == 0 ? 2 : 1;
    hs_pool pool{
        uint32_t(kind), type, 0, batch, c.planes / batch, windowOf(c.input, c.sliding), {}, {}};
    std::copy_n(c.countedFront, 3, pool.counted_front);
    std::copy_n(c.countedBehind, 3, pool.counted_behind);
    return pool;
  }

  std::vector<double> expected(const hs_pool &pool, const std::vector<double> &a,
                               const std::vector<double> &b) const {
    int64_t inputs = volumeOf(pool.window.input), outputs = volumeOf(pool.window.output);
    bool isAdjoint = pool.kind >= HS_POOL_MAX_GRADIENT;
    bool isMaximum = pool.kind == HS_POOL_MAX || pool.kind == HS_POOL_MAX_GRADIENT;
    std::vector<double> result(size_t(planesOf(pool) * (isAdjoint ? inputs : outputs)), 0.0);
    for (int64_t plane = 0; plane < planesOf(pool); ++plane) {
      auto x = [&](int64_t i) { return size_t(plane * inputs + i); };
      auto y = [&](int64_t i) { return size_t(plane * outputs + i); };
      std::vector<int64_t> place(size_t(outputs), -1);
      std::vector<double> divisor(size_t(outputs), 0.0);
      forEachPair(pool.window, [&](int64_t output, int64_t, int64_t input, auto at) {
        bool counts = true;
        for (size_t i = 0; i < 3; ++i)
          counts &= at[i] >= -pool.counted_front[i] &&
                    at[i] < pool.window.input[i] + pool.counted_behind[i];
        divisor[size_t(output)] += counts;
        int64_t &best = place[size_t(output)];
        if (input >= 0 && isMaximum &&
            (best < 0 || a[x(input)] > a[x(best)] || std::isnan(a[x(input)])))
          best = input;
      });
      if (isMaximum)
        for (int64_t output = 0; output < outputs; ++output) {
          int64_t best = place[size_t(output)];
          if (!isAdjoint)
            result[y(output)] = best < 0 ? -std::numeric_limits<double>::infinity() : a[x(best)];
          else if (best >= 0)
            result[x(best)] += b[y(output)];
        }
      else
        forEachPair(pool.window, [&](int64_t output, int64_t, int64_t input, auto) {
          if (input < 0)
            return;
          if (isAdjoint)
            result[x(input)] += a[y(output)] / divisor[size_t(output)];
          else
            result[y(output)] += a[x(input)] / divisor[size_t(output)];
        });
    }
    return result;
  }
};

TEST_P(Pool, EveryKindAndTypeIsRightWithTheSameBitsForAnyThreadsAndLayout) {
  for (hs_pool_kind kind :
       {HS_POOL_MAX, HS_POOL_AVERAGE, HS_POOL_MAX_GRADIENT, HS_POOL_AVERAGE_GRADIENT})
    for (uint32_t type : allTypes)
      check(kind, type);
}

void Pool::check(hs_pool_kind kind, uint32_t type) const {
  SCOPED_TRACE("kind " + std::to_string(kind) + " type " + std::to_string(type));
  hs_pool pool = describe(kind, type);
  int64_t inputs = volumeOf(pool.window.input), outputs = volumeOf(pool.window.output);
  auto a = draw(planesOf(pool) * (kind == HS_POOL_AVERAGE_GRADIENT ? outputs : inputs), type, 1),
       b = draw(planesOf(pool) * outputs, type, 2);
  // Ties, which go to the first, in steps that 16 bits can tell apart.
  if (kind == HS_POOL_MAX || kind == HS_POOL_MAX_GRADIENT)
    for (double &number : a)
      number = std::round(number * 2);
  std::vector<double> values = expected(pool, a, b);
  auto positionsOf = [&](const std::vector<double> &numbers) {
    return int64_t(numbers.size()) / planesOf(pool);
  };
  auto run = [&](int threads, bool channelsLast) {
    hs_pool laidOut = pool;
    laidOut.channels_last = channelsLast;
    std::vector<std::string> operands;
    for (const auto &numbers : {a, b})
      operands.push_back(encode(
          channelsLast ? exchanged(numbers, pool.channels, positionsOf(numbers)) : numbers, type));
    if (kind != HS_POOL_MAX_GRADIENT)
      operands.pop_back();
    std::string bytes =
        runEntry(HS_POOL, &laidOut, operands, values.size() * encode({0}, type).size(), threads);
    return channelsLast
               ? encode(exchanged(decode(bytes, type), positionsOf(values), pool.channels), type)
               : bytes;
  };
  std::string bytes = run(1, false);
  std::vector<double> computed = decode(bytes, type);
  // Sums of up to a window of terms below 1, and one rounding.
  double terms = double(volumeOf(pool.window.kernel));
  for (size_t i = 0; i < values.size(); ++i) {
    if (kind == HS_POOL_MAX) {
      ASSERT_EQ(computed[i], values[i]) << i;
      continue;
    }
    double tolerance =
        terms * (type == HS_F64 ? 0x1p-52 : 0x1p-23) + roundingOf(type) * std::abs(values[i]);
    ASSERT_NEAR(computed[i], values[i], tolerance) << i;
  }
  for (int threads : {1, 2, 3})
    for (bool channelsLast : {false, true})
      EXPECT_TRUE(run(threads, channelsLast) == bytes)
          << threads << " threads" << (channelsLast ? ", channels last" : "");
}

const PoolCase poolCases[] = {
    {"halves", 600, {1, 8, 8}, {{1, 2, 2}, {1, 2, 2}}},
    {"overlapping", 5, {1, 9, 10}, {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}},
    {"countingPads",
     5,
     {1, 9, 10},
     {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 2, 2}},
     {0, 1, 1},
     {0, 1, 1}},
    {"dilated", 4, {1, 11, 12}, {{1, 3, 2}, {1, 1, 2}, {1, 2, 3}, {0, 1, 2}, {0, 2, 1}}},
    {"dense", 4, {1, 7, 300}, {{1, 3, 5}, {1, 1, 1}, {1, 1, 1}, {0, 1, 2}, {0, 1, 2}}},
    {"whole", 70, {1, 1, 49}, {{1, 1, 49}}},
    {"volume",
     3,
     {4, 5, 6},
     {{2, 2, 3}, {2, 1, 2}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1}},
     {1, 0, 1},
     {0, 1, 0}},
};

INSTANTIATE_TEST_SUITE_P(Shapes, Pool, testing::ValuesIn(poolCases),
                         [](const auto &info) { return info.param.name; });

/// A mean of 65504s is 65504, however many there are: the next number of f16 is infinite. Shares of
/// windows that overlap add up to as much.
TEST(Pool, LargeWindowsDoNotDrift) {
  constexpr int64_t size = 70000, overlapping = 6000;
  for (uint32_t type : {HS_F16, HS_F32})
    for (uint32_t channelsLast : {0, 1}) {
      SCOPED_TRACE("type " + std::to_string(type) + ", channels last " +
                   std::to_string(channelsLast));
      hs_pool whole{HS_POOL_AVERAGE,
                    type,
                    channelsLast,
                    1,
                    3,
                    windowOf({1, 1, size}, {{1, 1, size}}),
                    {},
                    {}};
      std::string x = encode(std::vector<double>(3 * size, 65504), type);
      size_t number = encode({0}, type).size();
      auto y = decode(runEntry(HS_POOL, &whole, {x}, 3 * number, 1), type);
      EXPECT_EQ(y, std::vector<double>(3, 65504));
      for (hs_pool_kind kind : {HS_POOL_AVERAGE_GRADIENT, HS_POOL_MAX_GRADIENT}) {
        // The number in the middle is in every window, and the largest.
        constexpr int64_t inputs = 2 * overlapping - 1, middle = overlapping - 1;
        hs_pool pool{uint32_t(kind),
                     type,
                     channelsLast,
                     1,
                     1,
                     windowOf({1, 1, inputs}, {{1, 1, overlapping}}),
                     {},
                     {}};
        std::vector<double> numbers(inputs, 0.0);
        numbers[middle] = 1;
        bool isMaximum = kind == HS_POOL_MAX_GRADIENT;
        double each = !isMaximum ? 65504 : type == HS_F16 ? 2047 * 0x1p-9 : double(1 / 3.0f);
        std::vector<std::string> operands{encode(std::vector<double>(overlapping, each), type)};
        if (isMaximum)
          operands.insert(operands.begin(), encode(numbers, type));
        auto dx = decode(runEntry(HS_POOL, &pool, operands, inputs * number, 1), type);
        double expected = isMaximum ? each * overlapping : 65504;
        EXPECT_NEAR(dx[middle], expected, expected * (type == HS_F16 ? 0x1p-11 : 0x1p-24));
      }
    }
}

TEST(Pool, LargePlanesAreComputedInParts) {
  for (const hs_window &window : largePlanes)
    for (hs_pool_kind kind :
         {HS_POOL_MAX, HS_POOL_AVERAGE, HS_POOL_MAX_GRADIENT, HS_POOL_AVERAGE_GRADIENT}) {
      std::vector<double> x = drawWhole(volumeOf(window.input), 1),
                          dy = drawWhole(volumeOf(window.output), 2);
      auto run = [&](uint32_t type, bool channelsLast) {
        hs_pool pool{uint32_t(kind), type, channelsLast, 1, 1, window, {}, {}};
        std::vector<std::string> operands;
        if (kind != HS_POOL_AVERAGE_GRADIENT)
          operands.push_back(encode(x, type));
        if (isAdjoint(pool))
          operands.push_back(encode(dy, type));
        int64_t size = volumeOf(isAdjoint(pool) ? window.input : window.output);
        return runEntry(HS_POOL, &pool, operands, size_t(size) * encode({0}, type).size(), 2);
      };
      SCOPED_TRACE("kind " + std::to_string(kind));
      std::vector<double> expected = decode(run(HS_F32, false), HS_F32);
      EXPECT_EQ(run(HS_F32, true), encode(expected, HS_F32));
      for (bool channelsLast : {false, true})
        for (uint32_t type : {HS_F16, HS_BF16})
          EXPECT_TRUE(run(type, channelsLast) == encode(expected, type)) << type << channelsLast;
    }
}

TEST(Pool, NotANumberIsTheMaximumAndGetsTheAdjoint) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double low = -std::numeric_limits<double>::infinity();
  Sliding pair{{1, 1, 2}, {1, 1, 2}};
  hs_pool pool{HS_POOL_MAX, HS_F32, 0, 1, 1, windowOf({1, 1, 6}, pair), {}, {}};
  std::string x = encode({3, nan, nan, 7, low, low}, HS_F32), dy = encode({1, 2, 3}, HS_F32);
  for (pool.channels_last = 0; pool.channels_last < 2; ++pool.channels_last) {
    pool.kind = HS_POOL_MAX;
    auto y = decode(runEntry(HS_POOL, &pool, {x}, 3 * sizeof(float), 1), HS_F32);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
    EXPECT_EQ(y[2], low);
    pool.kind = HS_POOL_MAX_GRADIENT;
    auto dx = decode(runEntry(HS_POOL, &pool, {x, dy}, 6 * sizeof(float), 1), HS_F32);
    EXPECT_EQ(dx, (std::vector<double>{0, 1, 2, 0, 3, 0}));
  }
}

} // namespace

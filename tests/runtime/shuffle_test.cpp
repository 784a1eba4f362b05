//===- shuffle_test.cpp - The order of samples in an epoch ------------------------------------===//

#include "runtime/Philox.h"
#include "runtime/Shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace halfstep::runtime;

namespace {

// The known answers that the authors publish with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<uint64_t> shuffled(size_t samples, uint64_t seed, uint64_t epoch) {
  std::vector<uint64_t> order(samples, 999);
  shuffleSamples(order, seed, epoch);
  return order;
}

TEST(Shuffle, IsAPermutation) {
  for (size_t samples : {0, 1, 2, 3, 4, 5, 64, 1797}) {
    std::vector<uint64_t> order = shuffled(samples, 3, 5);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < samples; ++i)
      ASSERT_EQ(order[i], i);
  }
}

TEST(Shuffle, FollowsSeedAndEpochAlone) {
  std::vector<uint64_t> order = shuffled(100, 1, 0);
  EXPECT_EQ(order, shuffled(100, 1, 0));
  EXPECT_NE(order, shuffled(100, 2, 0));
  EXPECT_NE(order, shuffled(100, 1 + (uint64_t{1} << 32), 0));
  EXPECT_NE(order, shuffled(100, 1, 1));
  EXPECT_NE(order, shuffled(100, 1, uint64_t{1} << 32));
}

// Checkpoints are resumed by newer versions: the order of a seed never changes.
TEST(Shuffle, IsFixedForever) {
  EXPECT_EQ(shuffled(8, 0, 0), (std::vector<uint64_t>{1, 7, 4, 5, 2, 6, 0, 3}));
  EXPECT_EQ(shuffled(9, 42, 3), (std::vector<uint64_t>{2, 5, 4, 3, 1, 6, 0, 7, 8}));
}

// Each of the 24 orders of four samples comes up equally often: chi-square of 23 degrees of freedom
// is below 49.73 with probability 0.999; the seeds are fixed.
TEST(Shuffle, IsUniform) {
  std::map<std::vector<uint64_t>, int> counts;
  const int rounds = 24000;
  for (int epoch = 0; epoch < rounds; ++epoch)
    ++counts[shuffled(4, 11, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  double chiSquare = 0;
  for (const auto &[order, count] : counts)
    chiSquare += (count - rounds / 24.0) * (count - rounds / 24.0) / (rounds / 24.0);
  EXPECT_LT(chiSquare, 49.73);
}

} // namespace

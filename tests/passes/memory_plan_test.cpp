//===- memory_plan_test.cpp - Live ranges and their offsets ---------------===//

#include "passes/MemoryPlan.h"
#include "gtest/gtest.h"
#include <random>

using namespace halfstep;

namespace {

/// No two ranges that live at once share a byte, every offset is aligned, and the peak lies between
/// the lower bound and all ranges side by side.
void expectValid(llvm::ArrayRef<LiveRange> ranges, const MemoryPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), ranges.size());
  uint64_t end = 0, sum = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    uint64_t begin = plan.offsets[i];
    EXPECT_EQ(begin % ranges[i].alignment, 0u);
    end = std::max(end, begin + ranges[i].bytes);
    sum += ranges[i].bytes + ranges[i].alignment - 1;
    for (size_t j = 0; j < i; ++j)
      if (ranges[i].overlaps(ranges[j])) {
        EXPECT_TRUE(begin + ranges[i].bytes <= plan.offsets[j] ||
                    plan.offsets[j] + ranges[j].bytes <= begin)
            << "ranges " << j << " and " << i;
      }
  }
  EXPECT_EQ(plan.peak, end);
  EXPECT_GE(plan.peak, mostLive(ranges).bytes);
  EXPECT_LE(plan.peak, sum);
}

/// A step of `layers` layers: activations live until the backward pass reaches their layer, their
/// adjoints from there to the next one.
std::vector<LiveRange> trainingStep(std::mt19937 &random, unsigned layers) {
  std::uniform_int_distribution<uint64_t> bytes(1000, 1 << 20);
  std::vector<LiveRange> ranges;
  for (unsigned i = 0; i < layers; ++i) {
    uint64_t size = bytes(random);
    unsigned backward = 2 * layers - 1 - i;
    ranges.push_back({size, i, backward});            // activation
    ranges.push_back({size, i, i + 1});               // what the next layer alone reads
    ranges.push_back({size, backward, backward + 1}); // adjoint
  }
  return ranges;
}

} // namespace

TEST(MemoryPlan, Nothing) {
  MemoryPlan empty = plan({});
  EXPECT_EQ(empty.peak, 0u);
  EXPECT_TRUE(mostLive({}).ranges.empty());
}

TEST(MemoryPlan, SuccessorsShareNeighboursDoNot) {
  std::vector<LiveRange> ranges = {{100, 0, 2}, {200, 1, 3}, {100, 3, 4}};
  MemoryPlan result = plan(ranges);
  EXPECT_EQ(result.offsets, (llvm::SmallVector<uint64_t>{0, 128, 0}));
  EXPECT_EQ(result.peak, 328u);
}

TEST(MemoryPlan, TakesTheSmallestGapThatFits) {
  // In entry 5, [0, 1024) and [1536, 1792) are free between the ranges that last.
  std::vector<LiveRange> ranges = {
      {1024, 0, 4}, {512, 0, 9}, {256, 0, 4}, {256, 0, 9}, {192, 5, 6}};
  EXPECT_EQ(plan(ranges).offsets, (llvm::SmallVector<uint64_t>{0, 1024, 1536, 1792, 1536}));
}

TEST(MemoryPlan, AlignsEachRange) {
  std::vector<LiveRange> ranges = {{10, 0, 0, 64}, {10, 0, 0, 256}, {10, 0, 0, 1}};
  MemoryPlan result = plan(ranges);
  EXPECT_EQ(result.offsets, (llvm::SmallVector<uint64_t>{0, 256, 10}));
}

TEST(MemoryPlan, MostLive) {
  std::vector<LiveRange> ranges = {{100, 0, 2}, {200, 1, 3}, {250, 3, 4}, {1, 5, 5}};
  MostLive most = mostLive(ranges);
  EXPECT_EQ(most.entry, 3u);
  EXPECT_EQ(most.bytes, 450u);
  EXPECT_EQ(most.ranges, (llvm::SmallVector<unsigned>{1, 2}));
}

TEST(MemoryPlan, RandomRanges) {
  std::mt19937 random(0);
  for (unsigned round = 0; round < 4000; ++round) {
    std::uniform_int_distribution<unsigned> count(0, 40), entry(0, 30), log(0, 12);
    std::vector<LiveRange> ranges(count(random));
    for (LiveRange &range : ranges) {
      range.bytes = random() % (1u << log(random)) * (random() % 8 ? 1 : 0);
      range.first = entry(random);
      range.last = range.first + entry(random);
      range.alignment = 1u << log(random) % 9;
    }
    MemoryPlan result = plan(ranges);
    expectValid(ranges, result);
    EXPECT_EQ(plan(ranges).offsets, result.offsets);
    if (HasFailure())
      FAIL() << "in round " << round;
  }
}

TEST(MemoryPlan, TrainingStepsComeCloseToTheLowerBound) {
  std::mt19937 random(0);
  double worst = 0;
  for (unsigned layers : {2, 5, 10, 30, 100})
    for (unsigned round = 0; round < 20; ++round) {
      std::vector<LiveRange> ranges = trainingStep(random, layers);
      MemoryPlan result = plan(ranges);
      expectValid(ranges, result);
      worst = std::max(worst, double(result.peak) / double(mostLive(ranges).bytes));
    }
  RecordProperty("worst_ratio", std::to_string(worst));
  EXPECT_LE(worst, 1.2);
}

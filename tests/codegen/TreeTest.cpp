//===- TreeTest.cpp - sums in the order that ir/ReductionTree.h defines, bit for bit ---------===//
//
// The definition is computed here one value at a time; kernels, whole or split, must give its bits.
//
//===---------------------------------------------------------------------------------------===//

#include "Harness.h"
#include "ir/ReductionTree.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::tests;

/// Pairs of neighbours, again and again: lowest index bit first.
static float combinePairs(std::vector<float> values) {
  while (values.size() > 1) {
    if (values.size() % 2)
      values.push_back(-0.0f);
    for (size_t i = 0; i < values.size() / 2; ++i)
      values[i] = values[2 * i] + values[2 * i + 1];
    values.resize(values.size() / 2);
  }
  return values[0];
}

static float sumOfRow(const std::vector<float> &values) {
  RowTree tree(values.size());
  std::vector<float> chunks;
  for (int64_t chunk = 0; chunk < tree.chunks; ++chunk) {
    std::vector<float> accumulators(tree.accumulators, -0.0f);
    int64_t end = std::min<int64_t>((chunk + 1) * tree.chunk, values.size());
    for (int64_t i = chunk * tree.chunk; i < end; ++i)
      accumulators[i % tree.accumulators] += values[i];
    chunks.push_back(combinePairs(accumulators));
  }
  return tree.chunks == 1 ? chunks[0] : sumOfRow(chunks);
}

static float sumOfColumn(const std::vector<float> &values) {
  ColumnTree tree(values.size());
  std::vector<float> chunks;
  for (int64_t chunk = 0; chunk < tree.chunks; ++chunk) {
    std::vector<float> leaves(ColumnTree::leaves, -0.0f);
    int64_t first = chunk * ColumnTree::leaves * tree.leaf;
    int64_t end = std::min<int64_t>(first + ColumnTree::leaves * tree.leaf, values.size());
    for (int64_t i = first; i < end; ++i)
      leaves[(i - first) / tree.leaf] += values[i];
    chunks.push_back(combinePairs(leaves));
  }
  return tree.chunks == 1 ? chunks[0] : sumOfColumn(chunks);
}

static std::vector<float> randomValues(size_t count) {
  std::mt19937 random(count);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = number(random);
  return values;
}

static Buffers toBuffers(const std::vector<float> &values, size_t results) {
  auto *bytes = reinterpret_cast<const char *>(values.data());
  return {std::vector<char>(bytes, bytes + 4 * values.size()), std::vector<char>(4 * results)};
}

TEST(TreeTest, Rows) {
  std::string text;
  for (int64_t n : {1,   2,    3,    10,   17,   31,   32,   33,    63,    100,   255,   256,
                    257, 1000, 1024, 1025, 2049, 4096, 4097, 16384, 16385, 50000, 600000}) {
    std::string name = std::to_string(n);
    text += "kernel.group @s" + name + " [3, " + name + "](%x: f32[" + name +
            ", 1]) -> (f32[1, 0]) {\n %s = kernel.reduce add %x over last : f32\n"
            " kernel.yield %s : f32\n}\n";
  }
  Library library(text);
  ASSERT_FALSE(HasFatalFailure());
  for (auto group : library.module().getOps<GroupOp>()) {
    int64_t n = group.getSpace()[1];
    std::vector<float> values = randomValues(3 * n);
    Buffers buffers = toBuffers(values, 3);
    library.run(group, buffers);
    auto *sums = reinterpret_cast<const float *>(buffers[1].data());
    for (int64_t row = 0; row < 3; ++row)
      EXPECT_EQ(sums[row], sumOfRow({values.begin() + row * n, values.begin() + (row + 1) * n}))
          << "row " << row << " of length " << n;
  }
}

TEST(TreeTest, Columns) {
  std::string text;
  for (int64_t n : {1, 2, 7, 8, 9, 16, 100, 511, 512, 513, 1000, 70000}) {
    std::string name = std::to_string(n);
    text += "kernel.group @s" + name + " [" + name +
            ", 5](%x: f32[5, 1]) -> (f32[0, 1]) {\n %s = kernel.reduce add %x over rows : f32\n"
            " kernel.yield %s : f32\n}\n";
  }
  Library library(text);
  ASSERT_FALSE(HasFatalFailure());
  for (auto group : library.module().getOps<GroupOp>()) {
    int64_t n = group.getSpace()[0];
    std::vector<float> values = randomValues(5 * n);
    Buffers buffers = toBuffers(values, 5);
    library.run(group, buffers);
    auto *sums = reinterpret_cast<const float *>(buffers[1].data());
    for (int64_t column = 0; column < 5; ++column) {
      std::vector<float> of(n);
      for (int64_t row = 0; row < n; ++row)
        of[row] = values[5 * row + column];
      EXPECT_EQ(sums[column], sumOfColumn(of)) << "column " << column << " of length " << n;
    }
  }
}

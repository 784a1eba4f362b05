//===- progress_test.cpp - What a run shows while it runs -------------------------------------===//

#include "runtime/Progress.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <thread>

using namespace halfstep::runtime;

namespace {

/// What a run of `total` steps prints; the loss of step i is i.
std::string printed(Progress::Style style, uint64_t first, uint64_t total, bool countsEpochs,
                    std::chrono::milliseconds pause = {}) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress(style, first, total, 5, 16, countsEpochs);
    for (uint64_t done = first + 1; done <= total; ++done) {
      std::this_thread::sleep_for(pause);
      progress.step(done, double(done));
    }
    progress.finish(total);
  }
  return ::testing::internal::GetCapturedStderr();
}

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

TEST(Progress, OneLineAnEpochWithItsMeanLoss) {
  std::vector<std::string> lines = linesOf(printed(Progress::Style::Lines, 0, 15, true));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(std::regex_match(lines[0], std::regex("epoch 1/3  loss 3  \\d+ samples/s")));
  EXPECT_TRUE(std::regex_match(lines[2], std::regex("epoch 3/3  loss 13  \\d+ samples/s")));
}

TEST(Progress, AResumedEpochIsALineOfItsRest) {
  std::vector<std::string> lines = linesOf(printed(Progress::Style::Lines, 3, 10, true));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find("epoch 1/2  loss 4.5 "), 0u); // steps 4 and 5
}

TEST(Progress, OneLineATenthOfTheSteps) {
  std::vector<std::string> lines = linesOf(printed(Progress::Style::Lines, 0, 200, false));
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[0].find("step 20/200  loss 10.5 "), 0u);
  EXPECT_EQ(lines[9].find("step 200/200 "), 0u);
  EXPECT_EQ(linesOf(printed(Progress::Style::Lines, 0, 7, false)).size(), 7u);
  EXPECT_EQ(linesOf(printed(Progress::Style::Lines, 195, 200, false)).size(), 1u);
}

TEST(Progress, ABarIsRedrawnTenTimesASecondAtMost) {
  std::string text =
      printed(Progress::Style::Bar, 0, 60, false, std::chrono::milliseconds(5)); // 0.3 s or more
  size_t draws = std::count(text.begin(), text.end(), '\r');
  EXPECT_GE(draws, 2u);
  EXPECT_LE(draws, 60u / 2); // far fewer than steps, however slow the machine
  EXPECT_TRUE(std::regex_search(
      text, std::regex("\rstep 60/60 \\[=+\\] loss 60  \\d+ samples/s  ETA 0:00\x1b\\[K\n$")));
}

TEST(Progress, AnOpenBarEndsItsLine) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress(Progress::Style::Bar, 0, 10, 5, 16, false);
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    progress.step(1, 1);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr().back(), '\n');
}

TEST(Progress, ValidationsHaveLinesOfTheirOwn) {
  ::testing::internal::CaptureStderr();
  Progress progress(Progress::Style::Lines, 0, 10, 5, 16, true);
  progress.validation(5, {{{"loss", 0.25}, {"accuracy", 0.953125}}, 64}, 0.1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "epoch 1/2  validation:  loss 0.25  accuracy 0.95312\n");
}

TEST(Progress, QuietIsQuiet) { EXPECT_EQ(printed(Progress::Style::Quiet, 0, 20, true), ""); }

} // namespace

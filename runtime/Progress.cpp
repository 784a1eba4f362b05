//===- Progress.cpp - What a run shows while it runs ------------------------------------------===//

#include "runtime/Progress.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace halfstep::runtime {

namespace {

std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// "0:07", "12:30", "3:01:00"
std::string formatDuration(double seconds) {
  uint64_t whole = seconds < 1e9 ? uint64_t(seconds + 0.5) : 1000000000;
  char text[40];
  unsigned long long hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  if (hours)
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", hours, minutes, rest);
  else
    std::snprintf(text, sizeof text, "%llu:%02llu", minutes, rest);
  return text;
}

size_t terminalColumns() {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// One system call for a line: output of several processes does not mix.
void writeError(const std::string &text) {
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

} // namespace

Progress::Style Progress::chooseStyle(bool quiet) {
  return quiet ? Style::Quiet : isatty(STDERR_FILENO) ? Style::Bar : Style::Lines;
}

Progress::Progress(Style style, uint64_t first, uint64_t total, uint64_t stepsPerEpoch,
                   uint64_t samplesPerStep, bool countsEpochs)
    : style(style), first(first), total(total), stepsPerEpoch(stepsPerEpoch),
      samplesPerStep(samplesPerStep), countsEpochs(countsEpochs), lineStart(first),
      lineTime(Clock::now()), start(lineTime), lastDraw(lineTime) {
  setNextLine(first);
}

void Progress::endLine() {
  if (barIsOpen)
    writeError("\n");
  barIsOpen = false;
}

/// The end of the epoch, or of the tenth of all steps, that the next step belongs to.
void Progress::setNextLine(uint64_t done) {
  if (countsEpochs)
    nextLine = (done / stepsPerEpoch + 1) * stepsPerEpoch;
  else
    nextLine = std::max(done + 1, (done * 10 / total + 1) * total / 10);
}

std::string Progress::position(uint64_t done) const {
  if (!countsEpochs)
    return "step " + std::to_string(done) + "/" + std::to_string(total);
  // A finished epoch is the current one until the next step.
  return "epoch " + std::to_string((std::max(done, uint64_t{1}) - 1) / stepsPerEpoch + 1) + "/" +
         std::to_string((total + stepsPerEpoch - 1) / stepsPerEpoch);
}

void Progress::show(uint64_t done) {
  Clock::time_point now = Clock::now();
  if (style == Style::Lines)
    printLine(done, now);
  else if (now - lastDraw >= std::chrono::milliseconds(100))
    drawBar(done, now);
}

void Progress::printLine(uint64_t done, Clock::time_point now) {
  double steps = double(done - lineStart);
  writeError(position(done) + "  loss " + format("%.5g", lossSum / steps) + "  " +
             format("%.0f", steps * double(samplesPerStep) / seconds(now - lineTime)) +
             " samples/s\n");
  lossSum = 0;
  lineStart = done;
  lineTime = now;
  setNextLine(done);
}

void Progress::drawBar(uint64_t done, Clock::time_point now) {
  lastDraw = now;
  double stepsPerSecond = double(done - first) / seconds(now - start);
  std::string left = position(done) + " ";
  std::string right = " loss " + format("%.5g", lastLoss) + "  " +
                      format("%.0f", stepsPerSecond * double(samplesPerStep)) + " samples/s  ETA " +
                      formatDuration(double(total - done) / stepsPerSecond);
  size_t columns = terminalColumns() - 1, text = left.size() + right.size() + 2;
  std::string bar;
  if (text + 10 <= columns) {
    size_t width = std::min(columns - text, size_t{40});
    size_t filled = size_t(double(width) * double(done) / double(total));
    bar = "[" + std::string(filled, '=') + std::string(width - filled, ' ') + "]";
  }
  writeError("\r" + (left + bar + right).substr(0, columns) + "\x1b[K");
  barIsOpen = true;
}

void Progress::validation(uint64_t done, const Metrics &metrics, double seconds) {
  auto pause = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  start += pause;
  lineTime += pause;
  if (style == Style::Quiet)
    return;
  std::string line = position(done) + "  validation:";
  for (const auto &[name, value] : metrics.values)
    line += "  " + name + " " + format("%.5g", value);
  barIsOpen = false;
  writeError((style == Style::Bar ? "\r\x1b[K" : "") + line + "\n");
}

void Progress::finish(uint64_t done) {
  Clock::time_point now = Clock::now();
  if (style == Style::Lines && done > lineStart)
    printLine(done, now);
  if (style == Style::Bar && done > first) {
    drawBar(done, now);
    writeError("\n");
    barIsOpen = false;
  }
}

} // namespace halfstep::runtime

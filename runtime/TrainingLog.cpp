//===- TrainingLog.cpp - What --log writes ----------------------------------------------------===//
//
// The JSON Lines file of `--log`. Lines are buffered for at most half a second, so that `tail -f`
// follows a slow training and a fast one does not wait for system calls.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/TrainingLog.h"

#include "runtime/JsonLine.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace halfstep::runtime {

TrainingLog::TrainingLog(const std::string &path, bool append)
    : path(path),
      file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (append ? 0 : O_TRUNC),
                  0666)),
      lastFlush(Clock::now()) {
  if (file.get() < 0)
    throw systemError(path, "cannot be written");
}

TrainingLog::~TrainingLog() {
  try {
    flush();
  } catch (const Error &) {
    // Whoever wanted to know has called flush().
  }
}

void TrainingLog::step(uint64_t step, uint64_t epoch, const Record &record, Clock::time_point start,
                       Clock::time_point end) {
  buffer += JsonLine()
                .field("event", std::string_view("step"))
                .field("step", step)
                .field("epoch", epoch)
                .field("loss", record.loss)
                .field("lr", record.lr)
                .field("scale", record.scale)
                .field("grad_norm", record.gradNorm)
                .field("skipped", record.skipped)
                .field("time", std::chrono::duration<double>(end - start).count())
                .finish();
  if (end - lastFlush > std::chrono::milliseconds(500) || buffer.size() > (1u << 20)) {
    flush();
    lastFlush = end;
  }
}

void TrainingLog::validation(uint64_t step, uint64_t epoch, const Metrics &metrics,
                             double seconds) {
  JsonLine line;
  line.field("event", std::string_view("validate")).field("step", step).field("epoch", epoch);
  for (const auto &[name, value] : metrics.values)
    line.field(name, value);
  buffer += line.field("samples", metrics.samples).field("time", seconds).finish();
}

void TrainingLog::flush() {
  size_t done = 0;
  while (done < buffer.size()) {
    ssize_t written = ::write(file.get(), buffer.data() + done, buffer.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      buffer.clear();
      throw systemError(path, "cannot be written");
    }
    done += size_t(written);
  }
  buffer.clear();
}

} // namespace halfstep::runtime

//===- Streams.cpp - The order of an emulated device's work -----------------------------------===//

#include "runtime/emulator/Streams.h"

#include <algorithm>

namespace halfstep::runtime {

void Streams::join(Clock &clock, const Clock &other) {
  clock.resize(std::max(clock.size(), other.size()));
  for (size_t i = 0; i < other.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

uint32_t Streams::create(bool isBlocking) {
  streams.emplace_back();
  streams.back().isBlocking = isBlocking;
  return uint32_t(streams.size() - 1);
}

Moment Streams::append(uint32_t stream, Entry entry) {
  Stream &to = streams[stream];
  join(to.clock, host);
  to.clock.resize(streams.size());
  entry.moment = {stream, ++to.issued, to.clock};
  to.clock[stream] = to.issued;
  to.queue.push_back(std::move(entry));
  return to.queue.back().moment;
}

/// The default stream waits for all blocking ones, and they for it.
void Streams::orderWithDefault(uint32_t stream) {
  if (stream != 0) {
    if (streams[stream].isBlocking)
      wait(stream, last(0));
    return;
  }
  for (uint32_t other = 1; other < streams.size(); ++other)
    if (streams[other].isBlocking)
      wait(0, last(other));
}

void Streams::enqueue(uint32_t stream, Operation operation) {
  orderWithDefault(stream);
  Entry entry;
  entry.operation = std::move(operation);
  append(stream, std::move(entry));
}

Moment Streams::last(uint32_t stream) const {
  return {stream, streams[stream].issued, streams[stream].clock};
}

void Streams::wait(uint32_t stream, const Moment &moment) {
  Entry entry;
  entry.waitedStream = moment.stream;
  entry.waitedNumber = moment.number;
  append(stream, std::move(entry));
  join(streams[stream].clock, moment.before);
}

bool Streams::isReady(const Stream &stream) const {
  if (stream.queue.empty())
    return false;
  const Entry &head = stream.queue.front();
  return streams[head.waitedStream].done >= head.waitedNumber;
}

void Streams::runHead(Stream &stream) {
  Entry entry = std::move(stream.queue.front());
  stream.queue.pop_front();
  ++stream.done;
  if (entry.operation)
    entry.operation(entry.moment);
}

/// Runs one operation that the next one of `stream` needs, or that one.
void Streams::advance(uint32_t stream) {
  while (!isReady(streams[stream]))
    stream = streams[stream].queue.front().waitedStream;
  runHead(streams[stream]);
}

void Streams::synchronise(const Moment &moment) {
  constexpr uint64_t oneIn = 4; // how often something runs that need not
  while (streams[moment.stream].done < moment.number) {
    uint32_t other = uint32_t(random() % streams.size());
    if (random() % oneIn == 0 && isReady(streams[other]))
      runHead(streams[other]);
    else
      advance(moment.stream);
  }
  join(host, moment.before);
}

void Streams::synchroniseAll() {
  for (uint32_t stream = 0; stream < streams.size(); ++stream)
    synchronise(last(stream));
}

} // namespace halfstep::runtime

//===- Streams.h - The order of an emulated device's work ---------------------------*- C++ -*-===//
//
// A stream is a queue of operations. Nothing runs when it is put there; when the host waits, what
// it waits for runs, as late as possible: of other streams only what a wait needs and now and then
// something that chance picks. So an order that nothing demands is seldom the one that happens.
//
// What must happen before what is kept in vector clocks (Fidge, Mattern 1988): of each stream, how
// many of its operations an operation comes after.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_STREAMS_H
#define HALFSTEP_RUNTIME_EMULATOR_STREAMS_H

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

namespace halfstep::runtime {

using Clock = std::vector<uint64_t>; // by stream

/// A place in a stream, behind `number` operations, and all that comes before it.
struct Moment {
  uint32_t stream = 0;
  uint64_t number = 0;
  Clock before;
};

class Streams {
public:
  /// What an operation does, told its own moment.
  using Operation = std::function<void(const Moment &)>;

  explicit Streams(uint64_t seed) : random(seed) { create(/*isBlocking=*/true); }

  /// Stream 0 exists from the beginning, is the driver's default stream and never runs at the same
  /// time as a blocking one.
  uint32_t create(bool isBlocking);
  bool isBlocking(uint32_t stream) const { return streams[stream].isBlocking; }

  void enqueue(uint32_t stream, Operation operation);
  /// The moment after all that is in the stream by now.
  Moment last(uint32_t stream) const;
  /// Lets what comes into the stream later wait for the moment.
  void wait(uint32_t stream, const Moment &moment);

  /// Runs what the moment needs. Throws what an operation throws.
  void synchronise(const Moment &moment);
  void synchroniseAll();

private:
  struct Entry {
    Moment moment;
    Operation operation; // empty: only waits
    uint32_t waitedStream = 0;
    uint64_t waitedNumber = 0; // of operations of that stream
  };
  struct Stream {
    std::deque<Entry> queue;
    uint64_t issued = 0, done = 0;
    Clock clock; // of the next operation
    bool isBlocking = false;
  };

  static void join(Clock &clock, const Clock &other);
  Moment append(uint32_t stream, Entry entry);
  void orderWithDefault(uint32_t stream);
  bool isReady(const Stream &stream) const;
  void runHead(Stream &stream);
  void advance(uint32_t stream);

  std::vector<Stream> streams;
  Clock host; // what the host has waited for
  std::mt19937_64 random;
};

} // namespace halfstep::runtime

#endif

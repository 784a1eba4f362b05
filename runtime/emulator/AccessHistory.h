//===- AccessHistory.h - Which stream touched which memory --------------------------*- C++ -*-===//
//
// Of every range of memory, the last operation that wrote it and the last of each stream that read
// it since: two accesses of which one is a write have to be ordered by a stream, an event or a wait
// of the host.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_ACCESSHISTORY_H
#define HALFSTEP_RUNTIME_EMULATOR_ACCESSHISTORY_H

#include "runtime/emulator/Streams.h"

#include <map>
#include <string>

namespace halfstep::runtime {

class AccessHistory {
public:
  /// Notes an access by the operation `what`. Throws where it is not ordered after one before.
  void note(uintptr_t begin, uintptr_t end, bool isWrite, const std::string &what,
            const Moment &moment);
  /// The memory is no more.
  void forget(uintptr_t begin, uintptr_t end);

private:
  struct Access {
    uint32_t stream = 0;
    uint64_t number = 0; // 0: there is none
    std::string what;
  };
  struct Segment {
    uintptr_t end = 0;
    Access writer;
    std::vector<Access> readers; // one a stream
  };
  using Segments = std::map<uintptr_t, Segment>; // by begin

  void splitAt(uintptr_t address);
  static void check(const Access &before, uintptr_t address, bool isWrite, const std::string &what,
                    const Moment &moment);

  Segments segments;
};

} // namespace halfstep::runtime

#endif

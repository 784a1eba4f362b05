//===- AccessHistory.cpp - Which stream touched which memory ----------------------------------===//

#include "runtime/emulator/AccessHistory.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cstdio>

namespace halfstep::runtime {

/// Makes a segment begin at `address` if one goes across it.
void AccessHistory::splitAt(uintptr_t address) {
  auto above = segments.lower_bound(address);
  if (above == segments.begin())
    return;
  auto below = std::prev(above);
  if (below->second.end <= address)
    return;
  segments.emplace_hint(above, address, below->second);
  below->second.end = address;
}

void AccessHistory::check(const Access &before, uintptr_t address, bool isWrite,
                          const std::string &what, const Moment &moment) {
  if (before.number == 0 || before.stream == moment.stream)
    return;
  if (before.stream < moment.before.size() && before.number <= moment.before[before.stream])
    return;
  char text[64];
  std::snprintf(text, sizeof text, "%s memory at %p", isWrite ? "writes" : "reads",
                reinterpret_cast<void *>(address));
  throw Error(what, std::string(text) + " that " + before.what +
                        " uses in another stream: no event orders the two");
}

void AccessHistory::note(uintptr_t begin, uintptr_t end, bool isWrite, const std::string &what,
                         const Moment &moment) {
  if (begin == end)
    return;
  splitAt(begin);
  splitAt(end);
  auto first = segments.lower_bound(begin), last = segments.lower_bound(end);
  for (auto at = first; at != last; ++at) {
    check(at->second.writer, at->first, isWrite, what, moment);
    if (isWrite)
      for (const Access &reader : at->second.readers)
        check(reader, at->first, isWrite, what, moment);
  }
  Access access{moment.stream, moment.number, what};
  if (isWrite) {
    segments.erase(first, last);
    segments[begin] = {end, std::move(access), {}};
    return;
  }
  uintptr_t covered = begin;
  for (auto at = first;; ++at) {
    uintptr_t next = at == last ? end : at->first;
    if (covered < next)
      segments[covered] = {next, {}, {access}};
    if (at == last)
      return;
    auto &readers = at->second.readers;
    auto own = std::find_if(readers.begin(), readers.end(),
                            [&](const Access &reader) { return reader.stream == moment.stream; });
    if (own == readers.end())
      readers.push_back(access);
    else
      *own = access;
    covered = at->second.end;
  }
}

void AccessHistory::forget(uintptr_t begin, uintptr_t end) {
  splitAt(begin);
  splitAt(end);
  segments.erase(segments.lower_bound(begin), segments.lower_bound(end));
}

} // namespace halfstep::runtime

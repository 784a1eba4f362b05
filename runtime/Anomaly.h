//===- Anomaly.h - Which entry made the numbers break down --------------------------*- C++ -*-===//
//
// Runs a program with a check after each entry, and finds the entry behind a result that is not
// finite.
//
// Not every infinity is a fault: the mask of an attention is -inf on purpose, and a softmax makes
// finite numbers of it. So the search goes backward from the program's results: from values that
// are not finite to the entries that wrote them, and on to what these had read. Of the entries on
// such a way the first one that read finite numbers only is at fault; where there is none, the
// numbers came in from outside, and it is the first one that read them.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_ANOMALY_H
#define HALFSTEP_RUNTIME_ANOMALY_H

#include "runtime/Error.h"
#include "runtime/Session.h"

#include <optional>

namespace halfstep::runtime {

struct Anomaly {
  hs_program_kind program;
  const hs_entry *entry;
  uint32_t slice;        // of the entry: what it wrote, or what it read where it came from outside
  bool isFromOutside;    // an input or a tensor of the state was not finite before
  uint64_t elements;     // of the slice
  uint64_t nonFinite;    // of these
  double largestOperand; // of the finite numbers that the entry read, the largest magnitude

  /// Whether the backward pass made it, so that a smaller loss scale may help.
  bool isGradient() const { return !isFromOutside && entry->uses[slice].is_gradient; }
};

/// Runs a program whose results are state (`micro`, `update`) as `Session::run` does; nothing if
/// all that it leaves behind is finite.
std::optional<Anomaly> runChecked(Session &session, hs_program_kind program);

/// Completes `error` by what is at fault and by the way out.
Error &explain(Error &error, const Session &session, const Anomaly &anomaly);

/// The name of an entry's node as a pattern of --pin; that of several is left to the user.
std::string pinPattern(const hs_entry &entry);

/// "the forward pass overflows at NODE: ...", in one line.
std::string describe(const Session &session, const Anomaly &anomaly);

} // namespace halfstep::runtime

#endif

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

#include "runtime/Census.h"
#include "runtime/Error.h"
#include "runtime/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace halfstep::runtime {

/// An entry as it was executed: by slice, what it found and what it left.
struct Execution {
  const hs_entry *entry;
  std::vector<Census> read, written;
};

/// Runs a program as `Session::run` does, with a census of what each entry reads and writes. In
/// a whole that is put together part by part, what is still to be written is zero.
std::vector<Execution> execute(Session &session, hs_program_kind program);

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

/// What is at fault in a program whose results are state (`micro`, `update`); nothing if all that
/// it left behind is finite.
std::optional<Anomaly> findAnomaly(hs_program_kind program,
                                   const std::vector<Execution> &executions);

/// Runs such a program as `Session::run` does and finds what is at fault.
std::optional<Anomaly> runChecked(Session &session, hs_program_kind program);

/// Completes `error` by what is at fault and by the way out.
Error &explain(Error &error, const Session &session, const Anomaly &anomaly);

/// The names of an entry's nodes as a pattern of --pin.
std::string pinPattern(const hs_entry &entry);

/// "the forward pass overflows at NODE: ...", in one line.
std::string describe(const Session &session, const Anomaly &anomaly);

/// What to change so that it does not happen again, in one line.
std::string wayOut(const Anomaly &anomaly);

} // namespace halfstep::runtime

#endif

//===- Against.h - Two precision modes, side by side ----------------------===//

#ifndef HALFSTEP_TOOLS_AGAINST_H
#define HALFSTEP_TOOLS_AGAINST_H

#include "tools/CompileOptions.h"

namespace halfstep {

/// Prints a row for each op that the options' precision mode or the `other` one has, casts left
/// out; what differs is marked with `*`, in each pass the first of it with `>`. Then the bytes of
/// results in each pass and, with an optimizer, the classes of a step's memory. Returns the exit
/// code.
///
/// As JSON: {"version": 1, "modes": [MODE, MODE], "nodes": [{"node", "op", "pass", "differs",
/// "types": [...], "reasons": [...], "bytes": [...]}], "memory": {CLASS: [BYTES, BYTES]}}; an op
/// that a mode has not is null there.
int compareModes(const CompileOptions &options, const std::string &other, llvm::StringRef format,
                 unsigned threads);

} // namespace halfstep

#endif

//===- Explain.h - Why a node computes in its types, and where it ends ----===//

#ifndef HALFSTEP_TOOLS_EXPLAIN_H
#define HALFSTEP_TOOLS_EXPLAIN_H

#include "tools/CompileOptions.h"

namespace halfstep {

/// Prints, of each op that comes from the ONNX node, forward and backward: its category, the type
/// that the mode wishes, what the target can do, whether it is pinned, its neighbours and its
/// result; then the entries of the step that compute it, and what else is in them. Where nothing is
/// said of them, the loss is one that fits any model, and the optimizer the simplest: neither is
/// the question. Returns the exit code; an unknown node is an error.
int explainNode(CompileOptions options, const std::string &node);

} // namespace halfstep

#endif

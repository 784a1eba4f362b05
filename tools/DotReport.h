//===- DotReport.h - A module's graphs for Graphviz -----------------------===//

#ifndef HALFSTEP_TOOLS_DOTREPORT_H
#define HALFSTEP_TOOLS_DOTREPORT_H

#include "tools/ModuleGraph.h"
#include "llvm/Support/raw_ostream.h"

namespace halfstep {

/// Prints a graph in the language of Graphviz: a cluster for each function and, in it, for each
/// scope of the node names; a node's colour is the type of its results, its tooltip says reason and
/// bytes. Names come from the model and may be anything.
void printDot(const ModuleGraph &graph, llvm::raw_ostream &os);

} // namespace halfstep

#endif

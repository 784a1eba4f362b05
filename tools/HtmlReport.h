//===- HtmlReport.h - A compilation as one page for a browser -------------===//
//
// The page is tools/inspect/, embedded by the build: one file, with its style, its program and its
// data inside, that asks no network for anything. Its data is what is collected here, as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TOOLS_HTMLREPORT_H
#define HALFSTEP_TOOLS_HTMLREPORT_H

#include "passes/Pipeline.h"
#include "tools/ModuleGraph.h"
#include "llvm/Support/raw_ostream.h"

namespace halfstep {

/// {"version": 1, "model", "recipe", "phases": [{"name", "help", "functions": [{"name", "nodes"}],
/// "regions"}], "strings", "types", "memory", "profile"}.
///
/// `recipe`, `memory` and `profile` are as elsewhere (Recipe::toJson, `inspect --phase memory` and
/// `--phase emit`); the latter two are left out before there is any. A node is an array, so that a
/// model of thousands of nodes is a page of a few megabytes: [op, pass, [ONNX node], reason,
/// [operand], [type of a result], [[role, name] of a tensor]]; texts are indices into "strings",
/// types into "types", which holds [text, bytes], operands count the results of all nodes.
class HtmlReport {
public:
  /// Names come from the model and may be anything: none of them becomes markup or program.
  HtmlReport(std::string model, std::string recipe)
      : model(std::move(model)), recipe(std::move(recipe)) {}

  /// In the order of the phases.
  void addPhase(Phase phase, mlir::ModuleOp module) {
    graphs.emplace_back(phase, ModuleGraph::of(module));
  }
  void setMemory(std::string json) { memory = std::move(json); }
  void setProfile(std::string json) { profile = std::move(json); }

  void print(llvm::raw_ostream &os) const;

private:
  std::string data() const;

  std::string model, recipe, memory, profile;
  std::vector<std::pair<Phase, ModuleGraph>> graphs;
};

} // namespace halfstep

#endif

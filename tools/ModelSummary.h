//===- ModelSummary.h - What a model holds, and how to compile it ---------===//

#ifndef HALFSTEP_TOOLS_MODELSUMMARY_H
#define HALFSTEP_TOOLS_MODELSUMMARY_H

#include "frontend/Importer.h"
#include "passes/Pins.h"
#include "tools/CompileOptions.h"

namespace halfstep {

/// What `halfstep inspect` says of a model whose parameters have been selected (phase grad).
/// `pins` are those of the options.
class ModelSummary {
public:
  ModelSummary(mlir::ModuleOp module, std::vector<DimensionBinding> dimensions,
               const CompileOptions &options, Pins &pins);

  void printText(llvm::raw_ostream &os) const;
  /// {"version", "inputs", "outputs", "dimensions", "parameters", "training_only", "compile"}
  void printJson(llvm::raw_ostream &os) const;

private:
  struct Tensor {
    std::string name;
    mlir::RankedTensorType type;
    bool isTrained;
    bool isLow = false; // a parameter's class
  };

  std::string compileLine(const CompileOptions &options) const;

  std::vector<Tensor> inputs, outputs, parameters;
  std::vector<DimensionBinding> dimensions;
  /// Nodes that do nothing in evaluation, like Dropout, and the ops that they are.
  std::vector<std::pair<std::string, std::string>> trainingOnly;
  std::string command; // a line for the shell
};

} // namespace halfstep

#endif

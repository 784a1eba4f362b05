//===- ModelSummary.h - What a model holds, and how to compile it ---------===//

#ifndef HALFSTEP_TOOLS_MODELSUMMARY_H
#define HALFSTEP_TOOLS_MODELSUMMARY_H

#include "frontend/FileSummary.h"
#include "frontend/Importer.h"
#include "passes/Pins.h"
#include "tools/CompileOptions.h"

namespace halfstep {

/// A node, and why it keeps the model from being trained.
struct BlockingNode {
  std::string node, reason;
};

/// What `halfstep inspect` says of a model.
class ModelSummary {
public:
  /// Of one whose parameters have been selected (phase grad). `pins` are those of the options.
  ModelSummary(mlir::ModuleOp module, std::vector<DimensionBinding> dimensions,
               const CompileOptions &options, Pins &pins);
  /// Of one that nodes block.
  ModelSummary(const FileSummary &file, std::vector<BlockingNode> blocking);

  void setLost(std::vector<ExportLoss> losses) { lost = std::move(losses); }

  void printText(llvm::raw_ostream &os) const;
  /// {"version", "inputs", "outputs", "dimensions", "parameters", "training_only", "lost",
  /// "blocking", "compile"}; of a model that is blocked, sizes may be names, and the compile line
  /// is left out.
  void printJson(llvm::raw_ostream &os) const;

private:
  struct Tensor : FileTensor {
    std::string remark; // of a parameter: "trained, low"
    bool isTrained = false;
    bool isLow = false; // a parameter's class
  };

  static Tensor describe(llvm::StringRef name, mlir::RankedTensorType type);
  std::string compileLine(const CompileOptions &options) const;
  std::string parameterCount() const;

  std::vector<Tensor> inputs, outputs, parameters;
  std::vector<DimensionBinding> dimensions;
  /// Nodes that do nothing in evaluation, like Dropout, and the ops that they are.
  std::vector<std::pair<std::string, std::string>> trainingOnly;
  std::vector<ExportLoss> lost;
  std::vector<BlockingNode> blocking;
  std::string command; // a line for the shell; empty for a model that is blocked
};

} // namespace halfstep

#endif

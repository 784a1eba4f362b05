//===- Compilation.h - A model on its way through the phases --------------===//

#ifndef HALFSTEP_TOOLS_COMPILATION_H
#define HALFSTEP_TOOLS_COMPILATION_H

#include "frontend/Importer.h"
#include "passes/Pipeline.h"
#include "tools/CompileOptions.h"
#include "tools/Diagnostics.h"

namespace halfstep {

/// Prints a module with its nodes' locations, so that it can be read again.
void printWithLocations(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Errors of the model are reported as they are found; then a function fails, and `exitCode` is
/// what the program ends with. Errors of the machine (unreadable, unwritable files) are thrown.
class Compilation {
public:
  /// `quiet` drops warnings and notes.
  Compilation(const CompileOptions &options, bool quiet);

  /// Reads the model: imports an ONNX file, or parses a module that --dump-phases wrote. Its recipe
  /// then holds for all that the command line leaves open; what finished phases have read can no
  /// longer be changed.
  mlir::LogicalResult load();

  /// Runs the phases behind the module's own, up to `last`, at most memory.
  mlir::LogicalResult advance(Phase last);

  /// Fails where the phases up to `last` of a training step need an option that is not given.
  mlir::LogicalResult checkTrains(Phase last);

  /// The parameters' values. Those of a parsed module are in the ONNX file that it was made from.
  mlir::FailureOr<llvm::ArrayRef<Weight>> weights();

  /// The model's file, for messages.
  const std::string &name() const { return options.model; }
  /// Files that were read: no output may be one of them.
  std::vector<std::string> inputs();
  mlir::ModuleOp module() { return *model.module; }
  mlir::MLIRContext &context() { return mlirContext; }
  const Recipe &recipe() const { return options.recipe; }
  const std::vector<DimensionBinding> &dimensions() const { return model.dimensions; }
  int exitCode() const { return printer.exitCode(); }

private:
  ImportOptions importOptions() const;
  mlir::LogicalResult parseModule();
  mlir::LogicalResult mergeRecipe(Phase finished);
  mlir::InFlightDiagnostic error(const llvm::Twine &what);
  void dump(Phase phase);

  CompileOptions options;
  mlir::MLIRContext mlirContext;
  DiagnosticPrinter printer;
  ImportedModel model;
  bool isParsed = false; // `model` has no weights yet
};

} // namespace halfstep

#endif

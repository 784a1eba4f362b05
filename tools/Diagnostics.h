//===- Diagnostics.h - MLIR diagnostics in the project's form -------------===//
//
// The compiler reports through MLIR at locations; the user reads
//
//   halfstep: error: FILE: NODE: what
//     details
//   help: the way out
//
// Notes of a diagnostic are its details; a note that begins with "help: " is the way out.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TOOLS_DIAGNOSTICS_H
#define HALFSTEP_TOOLS_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace halfstep {

/// Prints the diagnostics of a context to stderr while it lives.
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  /// `model` is the file that nodes are in. `quiet` drops all but errors.
  DiagnosticPrinter(mlir::MLIRContext &context, std::string model, bool quiet);

  /// The exit code after a failure: 2 where an option was at fault, else 1.
  int exitCode() const { return usage ? 2 : 1; }

private:
  void print(mlir::Diagnostic &diagnostic);
  std::string placeOf(mlir::Location loc) const;

  std::string model;
  bool quiet;
  bool usage = false;
};

} // namespace halfstep

#endif

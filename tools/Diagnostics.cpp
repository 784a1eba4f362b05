//===- Diagnostics.cpp - MLIR diagnostics in the project's form -----------===//

#include "tools/Diagnostics.h"

#include "frontend/Importer.h"
#include "ir/Describe.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace halfstep {

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, std::string model, bool quiet)
    : ScopedDiagnosticHandler(&context), model(std::move(model)), quiet(quiet) {
  setHandler([this](Diagnostic &diagnostic) { print(diagnostic); });
}

/// "FILE: NODE", "FILE:LINE:COLUMN" of a text file, or "FILE".
std::string DiagnosticPrinter::placeOf(Location loc) const {
  if (auto place = dyn_cast<FileLineColLoc>(loc)) {
    std::string file = place.getFilename().str();
    if (!place.getLine())
      return file;
    return llvm::formatv("{0}:{1}:{2}", file, place.getLine(), place.getColumn());
  }
  std::string nodes = nodeNames(loc);
  return nodes.empty() ? model : model + ": " + nodes;
}

static llvm::StringRef name(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  default:
    return "note";
  }
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if (quiet && !isError)
    return;
  std::string text = diagnostic.str(), place = placeOf(diagnostic.getLocation());
  // An option at fault is the subject itself, whatever op found it.
  bool isOption = llvm::StringRef(text).starts_with("--");
  if (isError)
    usage |= isOption || isCommandLineLocation(diagnostic.getLocation());

  llvm::raw_ostream &os = llvm::errs();
  os << "halfstep: " << name(diagnostic.getSeverity()) << ": ";
  if (!isOption)
    os << place << ": ";
  os << text << '\n';

  std::string help, nodes = nodeNames(diagnostic.getLocation());
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string detail = note.str(), noteNodes = nodeNames(note.getLocation());
    if (llvm::StringRef(detail).starts_with("help: "))
      help += detail + '\n';
    else if (noteNodes.empty() || noteNodes == nodes)
      os << "  " << detail << '\n';
    else
      os << "  " << noteNodes << ": " << detail << '\n';
  }
  os << help;
}

} // namespace halfstep

//===- CompileOptions.h - The options that decide what is compiled --------===//

#ifndef HALFSTEP_TOOLS_COMPILEOPTIONS_H
#define HALFSTEP_TOOLS_COMPILEOPTIONS_H

#include "passes/Recipe.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <CLI/CLI.hpp>
#include <map>

namespace halfstep {

struct CompileOptions {
  std::string model; // an ONNX file, or a module that --dump-phases wrote
  std::string externalData;
  std::string dumpPhases;
  Recipe recipe;
  /// Options that were given, "--batch", with their values as written; none for a flag.
  std::map<std::string, std::vector<std::string>> given;
  bool assumesSizes = false; // unbound dimensions have the size 1
};

/// "mse, cross-entropy, ...": the names in a table of losses, optimizers or schedules.
template <typename Info> std::string namesOf(llvm::ArrayRef<Info> table) {
  return llvm::join(llvm::map_range(table, [](const Info &info) { return info.name; }), ", ");
}

/// Throws, with a suggestion, unless `mode`, which `option` gives, is a precision mode.
void checkPrecision(const std::string &option, const std::string &mode);

/// A command `halfstep NAME` with --help, --version and --config.
class Command : public CLI::App {
public:
  /// `example` is one line of use.
  Command(const std::string &name, const std::string &what, const std::string &example);

  /// Adds MODEL and what its forward pass is compiled with: --batch, --bind, --precision...
  void addForwardOptions(CompileOptions &options);
  /// Adds what makes a training step of it: --loss, --optimizer, --schedule...
  void addTrainingOptions(CompileOptions &options);

  void addExternalData(std::string &folder);
  /// Adds an option that takes one of `names`, each a `kind`; the first is the default.
  void addChoice(const std::string &option, std::string &choice, const std::string &kind,
                 const std::vector<std::string> &names);

  /// Reads argv, whose first word is the command's name. Returns the exit code where the command
  /// ends with that.
  std::optional<int> parse(int argc, char **argv);

private:
  CompileOptions *compileOptions = nullptr;
};

} // namespace halfstep

#endif

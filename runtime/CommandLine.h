//===- CommandLine.h - A command's options, read from argv --------------------------*- C++ -*-===//
//
// What is common to every program around CLI11: help, version, and errors in the project's form.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_COMMANDLINE_H
#define HALFSTEP_RUNTIME_COMMANDLINE_H

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace halfstep::runtime {

/// The long names of the command's options, without the dashes: what can stand in a file of
/// options.
std::vector<std::string> optionNames(const CLI::App &command);

/// Fills what the options of `command` are bound to. Returns the exit code where the command ends
/// with that (--help and --version, answered on stdout). Throws Error, wrong usage, on everything
/// that is not understood; unknown options come with a suggestion.
std::optional<int> parseCommandLine(CLI::App &command, int argc, const char *const *argv);

} // namespace halfstep::runtime

#endif

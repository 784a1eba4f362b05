//===- CommandLine.cpp - A command's options, read from argv ----------------------------------===//

#include "runtime/CommandLine.h"

#include "runtime/Suggestion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

namespace halfstep::runtime {

std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

/// Looked for before CLI11 parses: it would complain first of the required option that is missing
/// because its name was mistyped.
static void checkOptionsExist(const CLI::App &command, int argc, const char *const *argv) {
  std::vector<std::string> known;
  for (const std::string &name : optionNames(command))
    known.push_back("--" + name);
  for (int i = 1; i < argc && std::string(argv[i]) != "--"; ++i) {
    std::string name = argv[i];
    name = name.substr(0, name.find('='));
    if (name.compare(0, 2, "--") == 0 && std::find(known.begin(), known.end(), name) == known.end())
      throw unknownName(command.get_name(), "option", name, known);
  }
}

std::optional<int> parseCommandLine(CLI::App &command, int argc, const char *const *argv) {
  checkOptionsExist(command, argc, argv);
  try {
    command.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success &question) {
    return command.exit(question, std::cout, std::cerr);
  } catch (const CLI::ParseError &error) {
    throw Error("", error.what()).exitWith(2);
  }
}

} // namespace halfstep::runtime

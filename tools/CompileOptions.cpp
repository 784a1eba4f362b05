//===- CompileOptions.cpp - The options that decide what is compiled ------===//

#include "tools/CompileOptions.h"

#include "ir/TableDialect.h"
#include "passes/Losses.h"
#include "passes/Optimizers.h"
#include "runtime/CommandLine.h"
#include "runtime/Suggestion.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace halfstep {

/// A whole number in the text, all of it.
static std::optional<int64_t> parseInteger(const std::string &text) {
  int64_t value;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

static std::string checkPositiveInteger(const std::string &text) {
  std::optional<int64_t> value = parseInteger(text);
  return value && *value > 0 ? "" : "'" + text + "' is not a positive whole number";
}

static std::string checkInputSlots(const std::string &text) {
  std::optional<int64_t> value = parseInteger(text);
  bool fits = value && *value >= 1 && *value <= table::kMostInputSlots;
  return fits ? ""
              : "'" + text + "' is not a whole number from 1 to " +
                    std::to_string(table::kMostInputSlots);
}

static std::string checkPositiveNumber(const std::string &text) {
  llvm::Expected<double> value = parseNumber(text);
  if (!value)
    return "it " + llvm::toString(value.takeError()) + " (got " + text + ")";
  return *value > 0 ? "" : "'" + text + "' is not a positive number";
}

/// Throws, with a suggestion, unless `name` is one of `known`.
static void checkName(const std::string &option, const std::string &kind, const std::string &name,
                      const std::vector<std::string> &known) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw runtime::unknownName(option, kind, name, known);
}

void checkPrecision(const std::string &option, const std::string &mode) {
  if (mode == "mixed")
    throw runtime::Error(option, "'mixed' does not say what the gradients are")
        .help("say autocast or half-grad")
        .exitWith(2);
  checkName(option, "mode", mode, {"fp32", "autocast", "half-grad", "half", "as-is"});
}

/// Adds NAME=N to the bound dimensions.
static void bind(std::map<std::string, int64_t> &dimensions, const std::string &assignment) {
  size_t equals = assignment.rfind('=');
  if (equals == std::string::npos || equals == 0)
    throw runtime::Error("--bind", "'" + assignment + "' is not NAME=N").exitWith(2);
  std::string name = assignment.substr(0, equals), number = assignment.substr(equals + 1);
  std::optional<int64_t> size = parseInteger(number);
  if (!size || *size <= 0)
    throw runtime::Error("--bind", name + ": '" + number + "' is not a positive whole number")
        .exitWith(2);
  if (!dimensions.emplace(name, *size).second)
    throw runtime::Error("--bind", name + " is given twice").exitWith(2);
}

/// An option that may be given several times, one value each: never the next word of the command
/// line, which may be MODEL.
static CLI::Option *addList(CLI::App &command, const char *flag, std::vector<std::string> &values,
                            const char *help, const char *type) {
  return command.add_option(flag, values, help)->allow_extra_args(false)->type_name(type);
}

void Command::addForwardOptions(CompileOptions &options) {
  compileOptions = &options;
  Recipe &recipe = options.recipe;
  add_option("MODEL", options.model, "an ONNX file, or a module of --dump-phases")
      ->required()
      ->type_name("");
  add_option("--batch", recipe.batch, "samples of one update, the leading dimension")
      ->check(checkPositiveInteger)
      ->type_name("N");
  add_option_function<std::vector<std::string>>(
      "--bind",
      [&](const std::vector<std::string> &assignments) {
        for (const std::string &assignment : assignments)
          bind(recipe.bind, assignment);
      },
      "the size of a symbolic dimension")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  add_option("--precision", recipe.precision,
             "fp32, autocast, half-grad, half, or as-is: the file's types")
      ->check([](const std::string &mode) {
        checkPrecision("--precision", mode);
        return std::string();
      })
      ->type_name("MODE")
      ->capture_default_str();
  addChoice("--half-type", recipe.halfType, "type", {"fp16", "bf16"});
  addList(*this, "--pin", recipe.pin, "the type of nodes or ops with such names",
          "REGEX=fp32|fp16|bf16");
  addList(*this, "--input-type", recipe.inputType, "the type that an input or `label` is staged in",
          "NAME=fp32|fp16|bf16");
  add_option("--input-slots", recipe.inputSlots,
             "staging slots of each input: with 2, one fills while the step reads the other")
      ->check(checkInputSlots)
      ->type_name("N")
      ->capture_default_str();
  addExternalData(options.externalData);
  addChoice("--target", recipe.target, "target", {"cpu", "cuda", "cpu,cuda"});
  addChoice("--cpu", recipe.cpu, "level", {"native", "x86-64-v3", "x86-64-v4"});
  addChoice("--arch", recipe.arch, "architecture", {"sm_80", "sm_86", "sm_89", "sm_90"});
  add_flag("--with-emulation", recipe.withEmulation,
           "a CUDA step that can also run on an emulated device");
  add_option("--dump-phases", options.dumpPhases,
             "write the module after each phase: 01-import.mlir, ...")
      ->type_name("DIR");
}

void Command::addTrainingOptions(CompileOptions &options) {
  Recipe &recipe = options.recipe;
  const char *spec = "NAME[:k=v,...]";
  add_option("--loss", recipe.loss, namesOf(losses()))->type_name(spec);
  add_option("--optimizer", recipe.optimizer, namesOf(optimizers()))->type_name(spec);
  add_option("--schedule", recipe.schedule, "of the learning rate: " + namesOf(schedules()))
      ->type_name(spec)
      ->capture_default_str();
  add_option("--clip-norm", recipe.clipNorm, "bound of the norm of all gradients together")
      ->check(checkPositiveNumber)
      ->type_name("X");
  add_option("--accumulate", recipe.accumulate, "micro-batches that make up one batch")
      ->check(checkPositiveInteger)
      ->type_name("N");
  addChoice("--accumulate-type", recipe.accumulateType, "type", {"f32", "half"});
  add_option("--loss-scale", recipe.lossScale,
             "dynamic[:k=v,...], none or a number (default: dynamic for fp16)")
      ->type_name("SCALE");
  addChoice("--rounding", recipe.rounding, "mode", {"nearest", "stochastic"});
  addList(*this, "--train", recipe.train, "train only the parameters with such names", "REGEX");
  addList(*this, "--freeze", recipe.freeze, "do not train these; beats --train", "REGEX");
}

void Command::addExternalData(std::string &folder) {
  add_option("--external-data", folder,
             "folder of the model's external data (default: the model's own)")
      ->type_name("DIR");
}

void Command::addChoice(const std::string &option, std::string &choice, const std::string &kind,
                        const std::vector<std::string> &names) {
  choice = names.front();
  add_option_function<std::string>(
      option,
      [=, &choice](const std::string &name) {
        checkName(option, kind, name, names);
        choice = name;
      },
      llvm::join(names, ", "))
      ->type_name(llvm::StringRef(kind).upper())
      ->default_str(choice);
}

namespace {
/// A TOML file of options, whose unknown names are errors.
class ConfigFile : public CLI::ConfigTOML {
public:
  explicit ConfigFile(const CLI::App &command) : command(command) {}

  std::vector<CLI::ConfigItem> from_config(std::istream &input) const override {
    std::vector<CLI::ConfigItem> items = CLI::ConfigTOML::from_config(input);
    std::vector<std::string> known = runtime::optionNames(command);
    for (const CLI::ConfigItem &item : items)
      if (std::find(known.begin(), known.end(), item.fullname()) == known.end())
        throw runtime::unknownName("--config", "option", item.fullname(), known);
    return items;
  }

private:
  const CLI::App &command;
};
} // namespace

Command::Command(const std::string &name, const std::string &what, const std::string &example)
    : CLI::App(what, "halfstep " + name) {
  footer("Example:\n  " + example);
  set_help_flag("--help", "print this");
  set_version_flag("--version", "halfstep " HALFSTEP_VERSION, "print the version");
  set_config("--config", "", "options from a file: batch = 16, loss = \"mse\"")
      ->type_name("FILE.toml");
  config_formatter(std::make_shared<ConfigFile>(*this));
}

std::optional<int> Command::parse(int argc, char **argv) {
  if (std::optional<int> answered = runtime::parseCommandLine(*this, argc, argv))
    return answered;
  if (compileOptions)
    for (const std::string &name : runtime::optionNames(*this))
      if (count("--" + name))
        if (const CLI::Option *option = get_option("--" + name); option->get_items_expected_max())
          compileOptions->given["--" + name] = option->results();
        else
          compileOptions->given["--" + name] = {};
  return std::nullopt;
}

} // namespace halfstep

//===- Main.cpp - The program halfstep ------------------------------------===//

#include "runtime/Suggestion.h"
#include "tools/Commands.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>
#include <new>

using namespace halfstep;

namespace {
struct CommandInfo {
  const char *name, *usage, *help;
  int (*run)(int argc, char **argv);
};
} // namespace

static constexpr CommandInfo commands[] = {
    {"compile", "MODEL.onnx -o OUT", "make a training executable", compileCommand},
    {"train", "MODEL.onnx", "compile in memory and train at once", trainCommand},
    {"run", "MODEL.onnx --out DIR", "compute the outputs for data", runCommand},
    {"inspect", "MODEL.onnx", "show what the model holds, and what each phase makes of it",
     inspectCommand},
    {"ops", "[MODEL.onnx]", "list the ONNX operators that are covered", opsCommand},
    {"export", "MODEL.onnx -o TRAINED.onnx", "write trained weights back into an ONNX file",
     exportCommand},
};

static void printHelp() {
  std::cout << "halfstep compiles an ONNX model into a native training step.\n\n";
  for (const CommandInfo &command : commands)
    std::cout << "  halfstep " << command.name << ' ' << command.usage << "\n      " << command.help
              << '\n';
  std::cout << "\nExample:\n"
               "  halfstep train model.onnx --batch 64 --loss cross-entropy --optimizer adam \\\n"
               "      --data x=x.npy --data label=label.npy --epochs 10 --save ckpt.safetensors\n\n"
               "halfstep COMMAND --help shows the options of a command.\n";
}

static int run(int argc, char **argv) {
  std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help") {
    printHelp();
    return 0;
  }
  if (name == "--version") {
    std::cout << "halfstep " HALFSTEP_VERSION "\n";
    return 0;
  }
  std::vector<std::string> known;
  for (const CommandInfo &command : commands) {
    if (name == command.name)
      return command.run(argc - 1, argv + 1);
    known.push_back(command.name);
  }
  if (name.empty())
    throw runtime::Error("", "it is not said what to do").help("halfstep --help").exitWith(2);
  throw runtime::unknownName("halfstep", "command", name, known);
}

/// Writes out what the command printed; a full disk or a closed pipe must not go unnoticed.
static void flushOutput() {
  llvm::outs().flush();
  bool failed = llvm::outs().has_error() || !std::cout.flush();
  llvm::outs().clear_error();
  if (failed)
    throw runtime::Error("standard output", "cannot be written");
}

int main(int argc, char **argv) {
  try {
    int exitCode = run(argc, argv);
    flushOutput();
    return exitCode;
  } catch (const runtime::Error &error) {
    std::cerr << "halfstep: error: " << error.what() << std::endl;
    return error.exitCode();
  } catch (const std::bad_alloc &) {
    std::cerr << "halfstep: error: out of memory" << std::endl;
    return 1;
  }
}

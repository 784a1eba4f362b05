//===- Inspect.cpp - halfstep inspect -------------------------------------===//
//
// Without --phase: what the model holds and how to compile it. With one: the module after that
// phase, or what is to be known of it. As HTML: everything up to that phase, or all.
//
//===----------------------------------------------------------------------===//

#include "ir/Describe.h"
#include "runtime/RunOptions.h"
#include "runtime/Suggestion.h"
#include "tools/Against.h"
#include "tools/Commands.h"
#include "tools/DotReport.h"
#include "tools/Explain.h"
#include "tools/HtmlReport.h"
#include "tools/LoadedModel.h"
#include "tools/MemorySummary.h"
#include "tools/ModelSummary.h"
#include "tools/PrecisionReport.h"
#include "tools/ProfileReport.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace halfstep {

static std::vector<std::string> phaseNames() {
  std::vector<std::string> names;
  for (const PhaseInfo &phase : phases())
    names.push_back(phase.name.str());
  return names;
}

static int printPrecision(Compilation &compilation, llvm::StringRef format) {
  FailureOr<std::vector<NodeTypes>> nodes = typesOfNodes(compilation);
  if (failed(nodes))
    return compilation.exitCode();
  if (format == "json")
    printPrecisionJson(*nodes, llvm::outs());
  else
    printPrecision(*nodes, llvm::outs());
  return 0;
}

static int printEmitted(Compilation &compilation, llvm::StringRef format) {
  if (format == "mlir")
    throw runtime::Error("--format", "what emit makes is not MLIR")
        .help("inspect the phase memory, or halfstep compile --emit llvm|ptx")
        .exitWith(2);
  codegen::Target target = targetOf(compilation.recipe());
  FailureOr<codegen::Profile> profile = codegen::profile(compilation.module(), target);
  if (failed(profile))
    return compilation.exitCode();
  if (format == "json")
    printProfileJson(*profile, target, llvm::outs());
  else
    printProfile(*profile, llvm::outs());
  return 0;
}

/// All phases up to `last`, those that a parsed module has behind it left out.
static int printHtml(Compilation &compilation, Phase last, unsigned threads) {
  HtmlReport report(llvm::sys::path::filename(compilation.name()).str(),
                    compilation.recipe().toJson());
  report.addPhase(*finishedPhase(compilation.module()), compilation.module());
  for (const PhaseInfo &each : phases()) {
    if (each.phase <= *finishedPhase(compilation.module()) || each.phase > last ||
        each.phase == Phase::Emit)
      continue;
    if (failed(compilation.advance(each.phase)))
      return compilation.exitCode();
    report.addPhase(each.phase, compilation.module());
  }
  if (last >= Phase::Memory)
    report.setMemory(MemoryReport::of(compilation.module(), threads).toJson());
  if (last == Phase::Emit) {
    codegen::Target target = targetOf(compilation.recipe());
    FailureOr<codegen::Profile> profile = codegen::profile(compilation.module(), target);
    if (failed(profile))
      return compilation.exitCode();
    std::string json;
    llvm::raw_string_ostream os(json);
    printProfileJson(*profile, target, os);
    report.setProfile(std::move(json));
  }
  report.print(llvm::outs());
  return 0;
}

static int inspectPhase(Compilation &compilation, Phase phase, llvm::StringRef format,
                        unsigned threads) {
  if (failed(compilation.load()))
    return compilation.exitCode();
  if (auto finished = finishedPhase(compilation.module()); finished && *finished > phase)
    throw runtime::Error(compilation.name(), "it is past the phase " + info(phase).name.str() +
                                                 ": it has finished " + info(*finished).name.str())
        .help("inspect the module that --dump-phases wrote after that phase, or the model")
        .exitWith(2);
  if (failed(compilation.checkTrains(phase)))
    return compilation.exitCode();
  if (format == "html")
    return printHtml(compilation, phase, threads);
  if (failed(compilation.advance(phase)))
    return compilation.exitCode();
  llvm::raw_ostream &os = llvm::outs();
  ModuleOp module = compilation.module();
  if (format == "dot") {
    printDot(ModuleGraph::of(module), os);
  } else if (phase == Phase::Emit) {
    return printEmitted(compilation, format);
  } else if (format != "mlir" && phase == Phase::Precision) {
    return printPrecision(compilation, format);
  } else if (format == "json" && phase == Phase::Memory) {
    os << MemoryReport::of(module, threads).toJson() << '\n';
  } else if (format == "json") {
    throw runtime::Error("--format", "json is there for the phases precision, memory and emit")
        .exitWith(2);
  } else if (format == "text" && phase == Phase::Memory) {
    MemoryReport report = MemoryReport::of(module, threads);
    printClasses(report, os);
    printPeak(report, os);
  } else if (format == "mlir") {
    printWithLocations(module, os);
  } else {
    module.print(os);
    os << '\n';
  }
  return 0;
}

static int printSummary(const ModelSummary &summary, llvm::StringRef format, int exitCode) {
  if (format == "json")
    summary.printJson(llvm::outs());
  else
    summary.printText(llvm::outs());
  return exitCode;
}

/// Keeps what errors, which are printed all the same, say of nodes.
static void noteBlockingNodes(Diagnostic &diagnostic, std::vector<BlockingNode> &blocking) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return;
  if (std::string node = nodeNames(diagnostic.getLocation()); !node.empty())
    blocking.push_back({node, diagnostic.str()});
  for (Diagnostic &note : diagnostic.getNotes())
    if (std::string node = nodeNames(note.getLocation());
        !node.empty() && note.getLocation() != diagnostic.getLocation())
      blocking.push_back({node, note.str()});
}

/// Differentiates too, so that nodes without a gradient are reported, by a loss that fits any model
/// where none is given.
static int inspectModel(CompileOptions options, llvm::StringRef format) {
  const CompileOptions asGiven = options;
  if (options.recipe.loss.empty())
    options.recipe.loss = "mean";
  Compilation compilation(options, /*quiet=*/false);
  std::vector<BlockingNode> blocking;
  bool isBlocked = [&] {
    ScopedDiagnosticHandler collector(&compilation.context(), [&](Diagnostic &diagnostic) {
      noteBlockingNodes(diagnostic, blocking);
      return failure(); // the handler behind this one prints it
    });
    return failed(compilation.load()) || failed(compilation.advance(Phase::Grad));
  }();
  bool isFile = !llvm::StringRef(options.model).ends_with(".mlir");
  if (isBlocked && (blocking.empty() || !isFile || compilation.exitCode() != 1))
    return compilation.exitCode();
  FailureOr<FileSummary> file = FileSummary();
  if (isFile)
    file = summariseFile(compilation.context(), options.model, options.externalData);
  if (failed(file))
    return compilation.exitCode();
  if (isBlocked) {
    ModelSummary summary(*file, std::move(blocking));
    summary.setLost(std::move(file->lost));
    return printSummary(summary, format, compilation.exitCode());
  }
  if (!compilation.module().lookupSymbol("forward"))
    throw runtime::Error("--phase", "is needed for a module that is past the phase grad")
        .exitWith(2);
  auto pins = Pins::parse(options.recipe.pin, &compilation.context(), [&](const llvm::Twine &what) {
    return emitError(compilation.module().getLoc()) << what;
  });
  if (failed(pins))
    return compilation.exitCode();
  ModelSummary summary(compilation.module(), compilation.dimensions(), asGiven, *pins);
  summary.setLost(std::move(file->lost));
  return printSummary(summary, format, 0);
}

/// --against and --explain are questions about the precision phase.
static void checkQuestion(const CompileOptions &options, const std::string &against,
                          const std::string &node, std::optional<Phase> phase,
                          llvm::StringRef format) {
  std::string option = against.empty() ? "--explain" : "--against";
  auto refuse = [&](const std::string &what) { throw runtime::Error(option, what).exitWith(2); };
  if (!against.empty() && !node.empty())
    refuse("goes without --explain");
  if (phase.value_or(Phase::Precision) != Phase::Precision)
    refuse("is about the phase precision");
  if (format != "text" && (format != "json" || against.empty()))
    refuse("has no form for --format " + format.str());
  if (!against.empty())
    checkPrecision("--against", against);
  if (against == options.recipe.precision)
    refuse("'" + against + "' is the mode itself; add --precision, or compare with another");
}

int inspectCommand(int argc, char **argv) {
  CompileOptions options;
  options.assumesSizes = true;
  std::string phaseName, format, against, node;
  int threads = 0;
  Command command("inspect", "Shows what a model holds, and what each phase makes of it.",
                  "halfstep inspect model.onnx --loss mse --phase grad");
  command.addForwardOptions(options);
  command.addTrainingOptions(options);
  command.add_option("--phase", phaseName, llvm::join(phaseNames(), ", "))->type_name("PHASE");
  command.addChoice("--format", format, "format", {"text", "mlir", "json", "html", "dot"});
  command.add_option("--against", against, "a precision mode to compare --precision with")
      ->check(runtime::isNoEmptyName)
      ->type_name("MODE");
  command.add_option("--explain", node, "an ONNX node: why it has its types, and where it ends")
      ->check(runtime::isNoEmptyName)
      ->type_name("NODE");
  runtime::addThreads(command, threads);
  if (std::optional<int> answered = command.parse(argc, argv))
    return *answered;

  std::optional<Phase> phase = phaseNamed(phaseName);
  if (!phaseName.empty() && !phase)
    throw runtime::unknownName("--phase", "phase", phaseName, phaseNames());
  if (!against.empty() || !node.empty()) {
    checkQuestion(options, against, node, phase, format);
    return against.empty() ? explainNode(options, node)
                           : compareModes(options, against, format, runtime::threadCount(threads));
  }
  if (!phase && (format == "mlir" || format == "dot"))
    throw runtime::Error("--format", format + " is the form of a phase's result")
        .help("add --phase PHASE")
        .exitWith(2);
  if (!phase && format == "html")
    phase = Phase::Emit;
  if (!phase)
    return inspectModel(options, format);
  Compilation compilation(options, /*quiet=*/false);
  return inspectPhase(compilation, *phase, format, runtime::threadCount(threads));
}

} // namespace halfstep

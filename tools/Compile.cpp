//===- Compile.cpp - halfstep compile -------------------------------------===//

#include "codegen/Codegen.h"
#include "codegen/KernelCode.h"
#include "codegen/Ptxas.h"
#include "passes/MemoryReport.h"
#include "runtime/Files.h"
#include "runtime/Library.h"
#include "runtime/OutputFiles.h"
#include "runtime/RunOptions.h"
#include "tools/Commands.h"
#include "tools/LoadedModel.h"
#include "tools/MemorySummary.h"
#include "tools/WeightFile.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace halfstep {

/// The program that training executables begin with: beside this one, in the build tree as
/// installed.
static std::string runnerPath() {
  llvm::SmallString<128> path(runtime::executablePath());
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib", "halfstep", "halfstep-runner");
  return path.str().str();
}

/// The bytes of what --emit asks for: "object", "shared", "ptx", "cubin", "llvm" or "mlir".
static FailureOr<std::string> emit(Compilation &compilation, llvm::StringRef form) {
  ModuleOp module = compilation.module();
  if (form == "mlir") {
    std::string text;
    llvm::raw_string_ostream os(text);
    printWithLocations(module, os);
    return text;
  }
  codegen::Target target = targetOf(compilation.recipe());
  if (form == "ptx" || form == "cubin") {
    if (!target.cuda)
      throw runtime::Error("--emit", form.str() + " is what --target cuda makes").exitWith(2);
    FailureOr<codegen::PtxCode> code = codegen::compileToPtx(module, *target.cuda);
    if (failed(code))
      return failure();
    if (form == "ptx")
      return std::move(code->text);
    llvm::Expected<codegen::Assembled> assembled = codegen::assemble(code->text, *target.cuda);
    if (!assembled)
      throw runtime::Error("--emit", llvm::toString(assembled.takeError()));
    return std::move(assembled->cubin);
  }
  if (form == "llvm")
    return codegen::compileToLlvmIr(module, target);
  if (form == "object")
    return codegen::compileToObject(module, target);
  FailureOr<codegen::CompiledArtefact> artefact = codegen::compileModule(module, target);
  if (failed(artefact))
    return failure();
  return std::move(artefact->sharedObject);
}

/// The options of each target of --target, which have entries and a plan of their own.
static std::vector<CompileOptions> splitTargets(const CompileOptions &options) {
  llvm::SmallVector<llvm::StringRef> targets;
  llvm::StringRef(options.recipe.target).split(targets, ',');
  std::vector<CompileOptions> split(targets.size(), options);
  for (auto [target, ofTarget] : llvm::zip(targets, split)) {
    ofTarget.recipe.target = target.str();
    ofTarget.recipe.withEmulation &= target == "cuda" || targets.size() == 1;
    if (targets.size() > 1 && !options.dumpPhases.empty())
      ofTarget.dumpPhases += ("/" + target).str();
  }
  return split;
}

/// Writes the training executable of an artefact, or of two, the second for CUDA.
static void writeExecutable(const std::string &out, llvm::ArrayRef<std::string> artefacts,
                            const std::string &weights) {
  codegen::ExecutableParts parts{artefacts[0], "", weights};
  if (artefacts.size() > 1)
    parts.cudaArtefact = artefacts[1];
  if (llvm::Error error = codegen::writeExecutable(out, parts, runnerPath()))
    throw runtime::Error("", llvm::toString(std::move(error)));
}

int compileCommand(int argc, char **argv) {
  CompileOptions options;
  std::string out, form;
  Command command("compile", "Compiles a model into a training executable.",
                  "halfstep compile model.onnx --batch 64 --loss cross-entropy --optimizer adam "
                  "-o train");
  command.addForwardOptions(options);
  command.addTrainingOptions(options);
  command.add_option("-o", out, "the file to write")->required()->type_name("OUT");
  command.addChoice("--emit", form, "form",
                    {"executable", "object", "shared", "ptx", "cubin", "llvm", "mlir"});
  if (std::optional<int> answered = command.parse(argc, argv))
    return *answered;

  runtime::checkIsNoInput("-o", out, {options.model});
  static_cast<void>(runtime::ReplacedFile(out)); // throws if it cannot be written

  bool isExecutable = form == "executable";
  std::vector<CompileOptions> targets = splitTargets(options);
  if (targets.size() > 1 && !isExecutable)
    throw runtime::Error("--emit", form + " is of one target, not of " + options.recipe.target)
        .exitWith(2);
  std::vector<std::string> results;
  std::string weightFile;
  for (const CompileOptions &target : targets) {
    Compilation compilation(target, /*quiet=*/!results.empty()); // what it says is said once
    if (failed(compilation.load()) || failed(compilation.checkTrains(Phase::Memory)) ||
        failed(compilation.advance(Phase::Memory)))
      return compilation.exitCode();
    if (targets.size() > 1)
      llvm::errs() << target.recipe.target << ":\n";
    printClasses(MemoryReport::of(compilation.module(), runtime::threadCount(0)), llvm::errs());
    FailureOr<llvm::ArrayRef<Weight>> weights = compilation.weights();
    if (failed(weights))
      return compilation.exitCode();
    FailureOr<std::string> result = emit(compilation, isExecutable ? "shared" : form);
    if (failed(result))
      return compilation.exitCode();
    runtime::checkIsNoInput("-o", out, compilation.inputs());
    weightFile = toSafetensors(*weights);
    results.push_back(std::move(*result));
  }
  if (isExecutable) {
    writeExecutable(out, results, weightFile);
    return 0;
  }
  runtime::ReplacedFile file(out);
  file.write(results[0].data(), results[0].size());
  file.commit();
  return 0;
}

} // namespace halfstep

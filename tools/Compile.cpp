//===- Compile.cpp - halfstep compile -------------------------------------===//

#include "codegen/Codegen.h"
#include "codegen/KernelCode.h"
#include "passes/MemoryReport.h"
#include "runtime/Files.h"
#include "runtime/Library.h"
#include "runtime/OutputFiles.h"
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

/// The bytes of what --emit asks for: "object", "shared", "ptx", "llvm" or "mlir".
static FailureOr<std::string> emit(Compilation &compilation, llvm::StringRef form) {
  ModuleOp module = compilation.module();
  if (form == "mlir") {
    std::string text;
    llvm::raw_string_ostream os(text);
    printWithLocations(module, os);
    return text;
  }
  codegen::Target target = targetOf(compilation.recipe());
  if (form == "ptx") {
    if (!target.cuda)
      throw runtime::Error("--emit", "ptx is what --target cuda makes").exitWith(2);
    return codegen::compileToPtx(module, *target.cuda);
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

static LogicalResult write(Compilation &compilation, llvm::StringRef form, const std::string &out) {
  bool isExecutable = form == "executable";
  FailureOr<llvm::ArrayRef<Weight>> weights = compilation.weights();
  if (failed(weights))
    return failure();
  FailureOr<std::string> bytes = emit(compilation, isExecutable ? "shared" : form);
  if (failed(bytes))
    return failure();
  runtime::checkIsNoInput("-o", out, compilation.inputs());
  if (!isExecutable) {
    runtime::ReplacedFile file(out);
    file.write(bytes->data(), bytes->size());
    file.commit();
    return success();
  }
  if (llvm::Error error =
          codegen::writeExecutable(out, *bytes, toSafetensors(*weights), runnerPath()))
    throw runtime::Error("", llvm::toString(std::move(error)));
  return success();
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
  command.addChoice("--emit", form, "form", {"executable", "object", "shared", "ptx", "llvm", "mlir"});
  if (std::optional<int> answered = command.parse(argc, argv))
    return *answered;

  runtime::checkIsNoInput("-o", out, {options.model});
  static_cast<void>(runtime::ReplacedFile(out)); // throws if it cannot be written

  Compilation compilation(options, /*quiet=*/false);
  if (failed(compilation.load()) || failed(compilation.checkTrains(Phase::Memory)) ||
      failed(compilation.advance(Phase::Memory)))
    return compilation.exitCode();
  printClasses(MemoryReport::of(compilation.module()), llvm::errs());
  return failed(write(compilation, form, out)) ? compilation.exitCode() : 0;
}

} // namespace halfstep

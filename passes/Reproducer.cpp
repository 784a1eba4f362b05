//===- Reproducer.cpp - What is left of a fault of ours -------------------===//
//
// MLIR's pass manager keeps the module as it was before, catches signals, and writes a reproducer
// whenever a pass fails. Most passes that fail have found something wrong with the model or the
// options, which is no fault; so the reproducer is made in memory, and a file only of one that
// somebody should see.
//
//===----------------------------------------------------------------------===//

#include "passes/Reproducer.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace halfstep;

namespace {
struct InMemory : ReproducerStream {
  explicit InMemory(std::string &text) : stream(text) {}
  StringRef description() override { return "memory"; }
  raw_ostream &os() override { return stream; }
  llvm::raw_string_ostream stream;
};

/// What became of the passes.
struct Progress {
  std::string pass;     // that runs, or did last
  bool hasEnded = true; // as opposed to a signal that ended it
};

struct Observer : PassInstrumentation {
  explicit Observer(Progress &progress) : progress(progress) {}
  void runBeforePass(Pass *pass, Operation *) override {
    if (!pass->getArgument().empty()) // MLIR's adaptor to nested ops has none
      progress.pass = pass->getArgument().str();
    progress.hasEnded = false;
  }
  void runAfterPass(Pass *, Operation *) override { progress.hasEnded = true; }
  void runAfterPassFailed(Pass *, Operation *) override { progress.hasEnded = true; }
  Progress &progress;
};
} // namespace

static bool isValid(ModuleOp module) {
  ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) { return success(); });
  return succeeded(verify(module));
}

/// Where `text` was written to, or why it was not.
static std::string helpFor(StringRef text) {
  int file;
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("halfstep", "mlir", file, path))
    return "a file to reproduce it cannot be made: " + error.message();
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << text;
  return ("help: please report it with " + path + "; 'halfstep-opt --run-reproducer " + path +
          "' shows it again")
      .str();
}

LogicalResult halfstep::runReproducibly(PassManager &pm, ModuleOp module) {
  MLIRContext *context = pm.getContext();
  Location location = module.getLoc(); // the module may be beyond use later
  std::string reproducer;
  Progress progress;
  SmallVector<Diagnostic> errors;
  pm.addInstrumentation(std::make_unique<Observer>(progress));
  pm.enableCrashReproducerGeneration(
      [&](std::string &) { return std::make_unique<InMemory>(reproducer); });
  LogicalResult result = [&] {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure(); // for the handler behind this one
      errors.push_back(std::move(diagnostic));
      return success();
    });
    return pm.run(module);
  }();
  if (succeeded(result))
    return success();

  errors.pop_back(); // the pass manager's own, which says that there is a reproducer
  StringRef fault = !progress.hasEnded ? "crashed"
                    : errors.empty()   ? "failed and does not say why"
                    : !isValid(module) ? "left a module that is not valid"
                                       : "";
  if (fault.empty()) {
    for (Diagnostic &error : errors)
      context->getDiagEngine().emit(std::move(error));
    return failure();
  }
  auto diagnostic = emitError(location)
                    << "internal error: the pass " << progress.pass << " " << fault;
  for (Diagnostic &error : errors)
    diagnostic.attachNote(error.getLocation()) << error.str();
  diagnostic.attachNote() << helpFor(reproducer);
  return diagnostic;
}

//===- Compilation.cpp - A model on its way through the phases ------------===//

#include "tools/Compilation.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "passes/Losses.h"
#include "passes/Optimizers.h"
#include "passes/Passes.h"
#include "runtime/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace halfstep {

void printWithLocations(ModuleOp module, llvm::raw_ostream &os) {
  module.print(os, OpPrintingFlags().enableDebugInfo(/*enable=*/true, /*prettyForm=*/false));
  os << '\n';
}

Compilation::Compilation(const CompileOptions &options, bool quiet)
    : options(options), mlirContext(MLIRContext::Threading::DISABLED),
      printer(mlirContext, options.model, quiet) {
  mlirContext.printOpOnDiagnostic(false);
  mlirContext.loadDialect<arith::ArithDialect, func::FuncDialect, kernel::KernelDialect,
                          math::MathDialect, table::TableDialect, train::TrainDialect>();
}

InFlightDiagnostic Compilation::error(const llvm::Twine &what) {
  return emitError(FileLineColLoc::get(&mlirContext, options.model, 0, 0)) << what;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

ImportOptions Compilation::importOptions() const {
  const Recipe &recipe = options.recipe;
  ImportOptions result;
  if (recipe.batch) // of an update; the model sees a micro-batch at a time
    result.batch = recipe.batch / recipe.accumulate;
  result.bindings = recipe.bind;
  result.externalData = options.externalData;
  if (options.assumesSizes)
    result.assumedSize = 1;
  return result;
}

LogicalResult Compilation::load() {
  if (llvm::StringRef(options.model).ends_with(".mlir"))
    return parseModule();

  const Recipe &recipe = options.recipe;
  if (recipe.batch % recipe.accumulate)
    return error(llvm::formatv("--accumulate: {0} micro-batches do not divide a batch of {1}",
                               recipe.accumulate, recipe.batch));
  FailureOr<ImportedModel> imported = importOnnx(mlirContext, options.model, importOptions());
  if (failed(imported))
    return failure();
  model = std::move(*imported);
  for (const DimensionBinding &dimension : dimensions())
    if (dimension.isAssumed)
      emitRemark(module().getLoc())
          << "dimension " << (dimension.name.empty() ? "0 of the input" : dimension.name)
          << " has no size; it is taken as " << dimension.size << " ("
          << (dimension.isLeading ? "--batch N" : "--bind " + dimension.name + "=N") << ")";
  // A dump may be continued from another folder.
  llvm::SmallString<128> source(options.model);
  llvm::sys::fs::make_absolute(source);
  module()->setAttr(table::attr::kSource, StringAttr::get(&mlirContext, source));
  module()->setAttr(table::attr::kRecipe, StringAttr::get(&mlirContext, recipe.toJson()));
  dump(Phase::Import);
  return success();
}

LogicalResult Compilation::parseModule() {
  if (!llvm::sys::fs::exists(options.model))
    return error("no such file");
  {
    // The parser goes on behind an error; what it says then is a consequence.
    bool hasFailed = false;
    ScopedDiagnosticHandler onlyFirst(&mlirContext, [&](Diagnostic &diagnostic) {
      bool isRepeated = hasFailed && diagnostic.getSeverity() == DiagnosticSeverity::Error;
      hasFailed |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return success(isRepeated); // else the handler behind this one has it
    });
    model.module = parseSourceFile<ModuleOp>(options.model, &mlirContext);
  }
  if (!model.module)
    return failure();
  isParsed = true;
  std::optional<Phase> finished = finishedPhase(module());
  if (!finished)
    return error("is not a module that --dump-phases wrote");
  // It may have been edited since; what it has to hold is what the next phase builds on.
  PassManager pm(&mlirContext);
  pm.addPass(createVerifyPhasePass({info(*finished).name.str()}));
  return failed(pm.run(module())) ? failure() : mergeRecipe(*finished);
}

/// The form of Recipe::toJson.
static bool fromJSON(const llvm::json::Value &value, Recipe &recipe, llvm::json::Path path) {
  llvm::json::ObjectMapper object(value, path);
  return object && object.map("loss", recipe.loss) && object.map("optimizer", recipe.optimizer) &&
         object.map("schedule", recipe.schedule) && object.map("precision", recipe.precision) &&
         object.map("half-type", recipe.halfType) && object.map("pin", recipe.pin) &&
         object.map("input-type", recipe.inputType) &&
         object.map("input-slots", recipe.inputSlots) &&
         object.map("loss-scale", recipe.lossScale) && object.map("clip-norm", recipe.clipNorm) &&
         object.map("batch", recipe.batch) && object.map("accumulate", recipe.accumulate) &&
         object.map("accumulate-type", recipe.accumulateType) &&
         object.map("rounding", recipe.rounding) && object.map("bind", recipe.bind) &&
         object.map("train", recipe.train) && object.map("freeze", recipe.freeze) &&
         object.map("target", recipe.target) && object.map("cpu", recipe.cpu) &&
         object.map("arch", recipe.arch) && object.map("with-emulation", recipe.withEmulation);
}

namespace {
/// A recipe option, the phase that reads it first, and how to take it over from another recipe.
struct RecipeOption {
  llvm::StringLiteral name;
  Phase phase;
  void (*copy)(const Recipe &from, Recipe &to);
};
} // namespace

template <auto Member> static void copyMember(const Recipe &from, Recipe &to) {
  to.*Member = from.*Member;
}

static constexpr RecipeOption recipeOptions[] = {
    {"--batch", Phase::Import, copyMember<&Recipe::batch>},
    {"--accumulate", Phase::Import, copyMember<&Recipe::accumulate>},
    {"--bind", Phase::Import, copyMember<&Recipe::bind>},
    {"--loss", Phase::Grad, copyMember<&Recipe::loss>},
    {"--train", Phase::Grad, copyMember<&Recipe::train>},
    {"--freeze", Phase::Grad, copyMember<&Recipe::freeze>},
    {"--precision", Phase::Precision, copyMember<&Recipe::precision>},
    {"--half-type", Phase::Precision, copyMember<&Recipe::halfType>},
    {"--pin", Phase::Precision, copyMember<&Recipe::pin>},
    {"--input-type", Phase::Precision, copyMember<&Recipe::inputType>},
    {"--optimizer", Phase::Update, copyMember<&Recipe::optimizer>},
    {"--schedule", Phase::Update, copyMember<&Recipe::schedule>},
    {"--clip-norm", Phase::Update, copyMember<&Recipe::clipNorm>},
    {"--accumulate-type", Phase::Update, copyMember<&Recipe::accumulateType>},
    {"--loss-scale", Phase::Update, copyMember<&Recipe::lossScale>},
    {"--rounding", Phase::Update, copyMember<&Recipe::rounding>},
    {"--input-slots", Phase::Memory, copyMember<&Recipe::inputSlots>},
    {"--target", Phase::Precision, copyMember<&Recipe::target>},
    {"--cpu", Phase::Emit, copyMember<&Recipe::cpu>},
    {"--arch", Phase::Emit, copyMember<&Recipe::arch>},
    {"--with-emulation", Phase::Emit, copyMember<&Recipe::withEmulation>},
};

/// Completes the recipe of the command line by that of the parsed module.
LogicalResult Compilation::mergeRecipe(Phase finished) {
  auto text = module()->getAttrOfType<StringAttr>(table::attr::kRecipe);
  llvm::Expected<Recipe> recipe = llvm::json::parse<Recipe>(text ? text.getValue() : "");
  if (!recipe) {
    llvm::consumeError(recipe.takeError());
    return error("its recipe is missing or damaged");
  }
  for (const RecipeOption &option : recipeOptions) {
    if (!options.given.count(option.name.str()))
      continue;
    if (option.phase <= finished)
      return error(llvm::formatv("{0}: {1} is already past the phase that reads it", option.name,
                                 options.model));
    option.copy(options.recipe, *recipe);
  }
  options.recipe = std::move(*recipe);
  module()->setAttr(table::attr::kRecipe, StringAttr::get(&mlirContext, options.recipe.toJson()));
  return success();
}

FailureOr<llvm::ArrayRef<Weight>> Compilation::weights() {
  if (!isParsed)
    return llvm::ArrayRef<Weight>(model.weights);
  auto source = module()->getAttrOfType<StringAttr>(table::attr::kSource);
  if (!source)
    return error("does not say which ONNX file it was made from");
  FailureOr<ImportedModel> imported = importOnnx(mlirContext, source, importOptions());
  if (failed(imported))
    return failure();
  if ((*imported->module)->getAttr(table::attr::kGraphHash) !=
      module()->getAttr(table::attr::kGraphHash))
    return error("was made from another version of " + source.getValue());
  model.weights = std::move(imported->weights);
  model.files = std::move(imported->files);
  isParsed = false;
  return llvm::ArrayRef<Weight>(model.weights);
}

std::vector<std::string> Compilation::inputs() {
  std::vector<std::string> files = model.files;
  files.push_back(options.model);
  if (auto source = module()->getAttrOfType<StringAttr>(table::attr::kSource))
    files.push_back(source.str());
  return files;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

LogicalResult Compilation::checkTrains(Phase last) {
  Phase finished = *finishedPhase(module());
  auto check = [&](Phase phase, llvm::StringRef option, bool isGiven, std::string names) {
    if (isGiven || last < phase || finished >= phase)
      return success();
    InFlightDiagnostic diagnostic = error(option + ": is needed to train");
    diagnostic.attachNote() << "help: add " << option << " NAME, one of " << names;
    return LogicalResult(diagnostic);
  };
  if (failed(check(Phase::Grad, "--loss", !recipe().loss.empty(), namesOf(losses()))))
    return failure();
  return check(Phase::Update, "--optimizer", !recipe().optimizer.empty(), namesOf(optimizers()));
}

LogicalResult Compilation::advance(Phase last) {
  if (last >= Phase::Precision && recipe().target == "cpu,cuda")
    throw runtime::Error("--target", "one is needed here, not cpu,cuda").exitWith(2);
  return runPhases(module(), options.recipe, last, [this](Phase phase, ModuleOp) { dump(phase); });
}

/// Writes the module with the locations of its nodes, so that a later run can go on with it.
void Compilation::dump(Phase phase) {
  if (options.dumpPhases.empty())
    return;
  llvm::SmallString<128> path(options.dumpPhases);
  if (std::error_code failure = llvm::sys::fs::create_directories(path))
    throw runtime::Error(options.dumpPhases, failure.message());
  llvm::sys::path::append(
      path, llvm::formatv("0{0}-{1}.mlir", unsigned(phase) + 1, info(phase).name).str());

  std::string text;
  llvm::raw_string_ostream os(text);
  printWithLocations(module(), os);
  runtime::ReplacedFile file(path.str().str());
  file.write(text.data(), text.size());
  file.commit();
}

} // namespace halfstep

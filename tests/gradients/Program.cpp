//===- Program.cpp - A function compiled, run and differentiated ----------===//

#include "Program.h"
#include "codegen/Codegen.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "runtime/Types.h"
#include <stdexcept>

using namespace halfstep;

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registry.insert<train::TrainDialect, kernel::KernelDialect, table::TableDialect,
                  mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  auto context = std::make_unique<mlir::MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

Recipe ProgramOptions::defaultRecipe() {
  Recipe recipe;
  recipe.loss = "mean";
  recipe.optimizer = "sgd";
  recipe.precision = "as-is";
  return recipe;
}

ProgramOptions ProgramOptions::forwardOnly() {
  ProgramOptions options;
  options.recipe.loss = options.recipe.optimizer = "";
  return options;
}

/// The phases kernels and memory, with what tests may switch off.
static mlir::LogicalResult placeInMemory(mlir::ModuleOp module, const ProgramOptions &options) {
  mlir::PassManager pm(module.getContext());
  pm.addPass(createExpandCompositesPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  pm.addPass(createAssignLayoutPass({options.layout, options.recipe.executor()}));
  pm.addPass(createNormaliseForKernelsPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(createFormKernelsPass({options.fuse, options.recipe.executor()}));
  pm.addPass(createSplitReductionsPass());
  pm.addPass(createPlanMemoryPass({options.reuse}));
  return pm.run(module);
}

/// The arguments `indices` of @micro are known by the attribute `to` instead of `from`.
static void renameAttribute(mlir::ModuleOp module, llvm::ArrayRef<unsigned> indices,
                            mlir::StringRef from, mlir::StringRef to) {
  auto micro = module.lookupSymbol<mlir::func::FuncOp>("micro");
  for (unsigned i : indices) {
    micro.setArgAttr(i, to, micro.getArgAttr(i, from));
    micro.removeArgAttr(i, from);
  }
}

mlir::LogicalResult differentiateAfterCasts(mlir::ModuleOp module, const Recipe &recipe) {
  mlir::PassManager types(module.getContext()), gradients(module.getContext());
  types.addPass(createSelectParametersPass({recipe.train, recipe.freeze}));
  types.addPass(mlir::createCanonicalizerPass());
  types.addPass(mlir::createCSEPass());
  types.addPass(createAppendLossPass({recipe.loss}));
  types.addPass(createEvaluationModePass());
  types.addPass(createAssignPrecisionPass({recipe.precision, recipe.halfType, recipe.pin}));
  types.addPass(mlir::createCSEPass()); // one cast of a value has one adjoint
  gradients.addPass(createAutodiffPass());
  if (failed(types.run(module)))
    return mlir::failure();
  // Autodiff knows parameters; a 16-bit copy is differentiated as one.
  llvm::SmallVector<unsigned> copies;
  auto micro = module.lookupSymbol<mlir::func::FuncOp>("micro");
  for (unsigned i = 0; i < micro.getNumArguments(); ++i)
    if (micro.getArgAttr(i, train::attr::kCopy))
      copies.push_back(i);
  renameAttribute(module, copies, train::attr::kCopy, train::attr::kParameter);
  mlir::LogicalResult result = gradients.run(module);
  renameAttribute(module, copies, train::attr::kParameter, train::attr::kCopy);
  return result;
}

/// The phases grad and precision the other way round.
static mlir::LogicalResult compileCastsFirst(mlir::ModuleOp module, const Recipe &recipe) {
  mlir::PassManager pm(module.getContext());
  pm.addPass(createExpandAdjointsPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  if (failed(differentiateAfterCasts(module, recipe)) || failed(pm.run(module)))
    return mlir::failure();
  module->setAttr(table::attr::kPhase,
                  mlir::StringAttr::get(module.getContext(), info(Phase::Precision).name));
  return mlir::success();
}

Program::Program(mlir::MLIRContext &context, const std::string &source,
                 const ProgramOptions &given) {
  ProgramOptions options = given;
  options.device.setTarget(options.recipe);
  const Recipe &recipe = options.recipe;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  auto observe = [&](Phase phase, mlir::ModuleOp m) {
    if (phase == Phase::Grad && options.edit)
      options.edit(m);
  };
  bool isUsual = options.fuse && options.reuse && options.layout == Layout::ByCost;
  auto compile = [&]() -> mlir::LogicalResult {
    if (!module || (options.castsFirst && failed(compileCastsFirst(*module, recipe))) ||
        failed(runPhases(*module, recipe, isUsual ? Phase::Memory : Phase::Update, observe)))
      return mlir::failure();
    return isUsual ? mlir::success() : placeInMemory(*module, options);
  };
  if (failed(compile()))
    throw std::runtime_error("does not compile: " + source);
  options.planned(*module);
  // What the importer and the command line say of a model.
  auto text = [&](mlir::StringRef value) { return mlir::StringAttr::get(&context, value); };
  (*module)->setAttr(table::attr::kGraphHash, text("sample"));
  (*module)->setAttr(table::attr::kRecipe, text(recipe.toJson()));
  auto artefact = codegen::compileModule(*module, options.device.target(recipe));
  if (failed(artefact))
    throw std::runtime_error("no code for: " + source);
  session =
      std::make_unique<runtime::Session>(runtime::Artefact::load("sample", artefact->sharedObject),
                                         /*threads=*/1, options.device.device());
  const hs_artefact &tables = session->artefact();
  for (uint64_t i = 0; i < tables.tensor_count; ++i)
    if (tables.tensors[i].role == HS_HYPERPARAMETER)
      session->writeScalar(tables.tensors[i], tables.tensors[i].initial);
}

void Program::setParameter(const std::string &name, const void *data) {
  session->write(*session->find(HS_PARAMETER, name), data);
}

void Program::setSeed(int64_t seed) {
  if (const hs_tensor *tensor = session->find(HS_COUNTER, "seed"))
    session->write(*tensor, &seed);
}

double Program::run() {
  session->micro();
  return session->readScalar(*session->find(HS_COUNTER, "running_loss"));
}

void Program::setParameter(const std::string &name, const std::vector<double> &values) {
  const hs_tensor &tensor = *session->find(HS_PARAMETER, name);
  std::vector<char> data(tensor.slice.bytes);
  auto fill = [&](auto *elements) { std::copy(values.begin(), values.end(), elements); };
  if (tensor.type == HS_I64)
    fill(reinterpret_cast<int64_t *>(data.data()));
  else if (tensor.type == HS_I32)
    fill(reinterpret_cast<int32_t *>(data.data()));
  else if (tensor.type == HS_BOOL)
    fill(data.data());
  else
    runtime::convert(values.data(), HS_F64, data.data(), hs_type(tensor.type), values.size());
  setParameter(name, data.data());
}

std::vector<double> Program::gradient(const std::string &name) {
  const hs_tensor &tensor = *session->find(HS_GRADIENT, name);
  std::vector<double> values(runtime::elementCount(tensor));
  runtime::convert(session->data(tensor), hs_type(tensor.type), values.data(), HS_F64,
                   values.size());
  return values;
}

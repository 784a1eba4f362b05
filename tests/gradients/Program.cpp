//===- Program.cpp - A function compiled, run and differentiated ----------===//

#include "Program.h"
#include "codegen/Codegen.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "runtime/Session.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
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

/// The phases kernels and memory, with what tests may switch off.
static mlir::LogicalResult placeInMemory(mlir::ModuleOp module, const ProgramOptions &options) {
  mlir::PassManager pm(module.getContext());
  pm.addPass(createExpandCompositesPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  pm.addPass(createNormaliseForKernelsPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(createFormKernelsPass({options.fuse}));
  pm.addPass(createPlanMemoryPass({options.reuse}));
  return pm.run(module);
}

Program::Program(mlir::MLIRContext &context, const std::string &source,
                 const ProgramOptions &options) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  const Recipe &recipe = options.recipe;
  auto observe = [&](Phase phase, mlir::ModuleOp m) {
    if (phase == Phase::Grad && options.edit)
      options.edit(m);
  };
  auto target = llvm::cantFail(codegen::CpuTarget::get("native"));
  bool isUsual = options.fuse && options.reuse;
  if (!module ||
      failed(runPhases(*module, recipe, isUsual ? Phase::Memory : Phase::Update, observe)) ||
      (!isUsual && failed(placeInMemory(*module, options))))
    throw std::runtime_error("does not compile: " + source);
  // What the importer and the command line say of a model.
  auto text = [&](mlir::StringRef value) { return mlir::StringAttr::get(&context, value); };
  (*module)->setAttr(table::attr::kGraphHash, text("sample"));
  (*module)->setAttr(table::attr::kRecipe, text(recipe.toJson()));
  auto artefact = codegen::compileModule(*module, target);
  if (failed(artefact))
    throw std::runtime_error("no code for: " + source);
  session = std::make_unique<runtime::Session>(
      runtime::Artefact::load("sample", artefact->sharedObject), /*threads=*/1);
}

Program::~Program() = default;

void Program::setParameter(const std::string &name, const void *data) {
  session->write(*session->find(HS_PARAMETER, name), data);
}

double Program::run() {
  session->micro();
  return session->readScalar(*session->find(HS_COUNTER, "running_loss"));
}

std::vector<double> Program::gradient(const std::string &name) {
  const hs_tensor *tensor = session->find(HS_GRADIENT, name);
  std::vector<double> values(tensor->slice.bytes / sizeof(double));
  session->read(*tensor, values.data());
  return values;
}

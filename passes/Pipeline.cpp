//===- Pipeline.cpp - Phases as data --------------------------------------===//

#include "passes/Pipeline.h"
#include "passes/Passes.h"
#include "passes/Reproducer.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace halfstep;

namespace {
/// What every phase leaves behind: no dead op, no op twice, no identity.
void addSimplification(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void buildGrad(OpPassManager &pm, const Recipe &recipe) {
  if (recipe.loss.empty()) { // runs forward only
    pm.addPass(createEvaluationModePass());
    return addSimplification(pm);
  }
  pm.addPass(createSelectParametersPass({recipe.train, recipe.freeze}));
  // Before differentiation: what is computed once has one adjoint.
  addSimplification(pm);
  pm.addPass(createAppendLossPass({recipe.loss}));
  pm.addPass(createEvaluationModePass());
  pm.addPass(createAutodiffPass());
}

void buildPrecision(OpPassManager &pm, const Recipe &recipe) {
  pm.addPass(createAssignPrecisionPass({recipe.precision, recipe.halfType, recipe.pin}));
  pm.addPass(createLegalizePrecisionPass({recipe.executor()}));
  pm.addPass(createAssignInputTypesPass(
      {recipe.inputType, /*narrow=*/recipe.precision != "as-is"}));
  // Types are final, so the sums that adjoints stand for can be built.
  pm.addPass(createExpandAdjointsPass());
  addSimplification(pm);
}

void buildUpdate(OpPassManager &pm, const Recipe &recipe) {
  pm.addPass(
      createBuildStepPass({recipe.optimizer, recipe.schedule, recipe.clipNorm, recipe.accumulate,
                           recipe.accumulateType, recipe.rounding, recipe.effectiveLossScale()}));
  addSimplification(pm);
}

void buildKernels(OpPassManager &pm, const Recipe &recipe) {
  pm.addPass(createExpandCompositesPass());
  // What the expansions of forward and backward have in common is computed once.
  addSimplification(pm);
  pm.addPass(createAssignLayoutPass({Layout::ByCost, recipe.executor()}));
  pm.addPass(createNormaliseForKernelsPass());
  // Not CSE, which would share again what was duplicated on purpose.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createFormKernelsPass({/*fuse=*/true, recipe.executor()}));
  if (recipe.executor() != "cpu")
    pm.addPass(createFuseFirstConvolutionPass());
  pm.addPass(createSplitReductionsPass());
  // What was duplicated for several kernels may have come together in one.
  pm.nest<kernel::GroupOp>().addPass(createCSEPass());
  pm.addPass(createOrderEntriesPass());
}

void buildMemory(OpPassManager &pm, const Recipe &recipe) {
  pm.addPass(createPlanMemoryPass({/*reuse=*/true, recipe.inputSlots, recipe.executor()}));
}

constexpr PhaseInfo kPhases[] = {
    {Phase::Import, "import", "the ONNX graph as train ops, dimensions bound", nullptr},
    {Phase::Grad, "grad", "loss and backward pass appended", buildGrad},
    {Phase::Precision, "precision", "every value in the type that the mode gives it",
     buildPrecision},
    {Phase::Update, "update", "entry functions: micro, update, evaluate, infer", buildUpdate},
    {Phase::Kernels, "kernels", "fused kernels and library calls, in execution order",
     buildKernels},
    {Phase::Memory, "memory", "every value at its place in memory", buildMemory},
    {Phase::Emit, "emit", "machine code and launch tables", nullptr}};

/// Options of a phase as a pipeline of halfstep-opt: the recipe's, for what the phase reads.
struct PhaseOptions : PassPipelineOptions<PhaseOptions> {
  Option<std::string> loss{*this, "loss", llvm::cl::desc("NAME[:key=value,...]")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("NAME[:key=value,...]")};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("NAME[:key=value,...]"),
                               llvm::cl::init("constant")};
  Option<std::string> precision{*this, "precision",
                                llvm::cl::desc("fp32, autocast, half-grad, half or as-is"),
                                llvm::cl::init("fp32")};
  Option<std::string> halfType{*this, "half-type", llvm::cl::desc("fp16 or bf16"),
                               llvm::cl::init("fp16")};
  Option<std::string> lossScale{*this, "loss-scale", llvm::cl::desc("dynamic, none or a number")};
  Option<std::string> accumulateType{*this, "accumulate-type", llvm::cl::desc("f32 or half"),
                                     llvm::cl::init("f32")};
  Option<std::string> rounding{*this, "rounding", llvm::cl::desc("nearest or stochastic"),
                               llvm::cl::init("nearest")};
  ListOption<std::string> pin{*this, "pin", llvm::cl::desc("REGEX=fp32|fp16|bf16")};
  ListOption<std::string> inputType{*this, "input-type",
                                    llvm::cl::desc("NAME=fp32|fp16|bf16")};
  Option<int64_t> inputSlots{*this, "input-slots", llvm::cl::desc("staging slots of each input"),
                             llvm::cl::init(2)};
  Option<double> clipNorm{*this, "clip-norm", llvm::cl::desc("bound of the gradient's norm")};
  Option<int64_t> accumulate{*this, "accumulate", llvm::cl::desc("micro-batches of one update"),
                             llvm::cl::init(1)};
  ListOption<std::string> train{*this, "train", llvm::cl::desc("patterns to train")};
  ListOption<std::string> freeze{*this, "freeze", llvm::cl::desc("patterns to freeze")};

  Recipe recipe() const {
    Recipe result;
    result.loss = loss;
    result.optimizer = optimizer;
    result.schedule = schedule;
    result.precision = precision;
    result.halfType = halfType;
    result.lossScale = lossScale;
    result.accumulateType = accumulateType;
    result.rounding = rounding;
    result.pin = std::vector<std::string>(pin.begin(), pin.end());
    result.inputType = std::vector<std::string>(inputType.begin(), inputType.end());
    result.inputSlots = inputSlots;
    result.clipNorm = clipNorm;
    result.accumulate = accumulate;
    result.train = std::vector<std::string>(train.begin(), train.end());
    result.freeze = std::vector<std::string>(freeze.begin(), freeze.end());
    return result;
  }
};

void buildPhase(OpPassManager &pm, const PhaseInfo &phase, const Recipe &recipe) {
  phase.build(pm, recipe);
  pm.addPass(createVerifyPhasePass({phase.name.str()}));
}
} // namespace

ArrayRef<PhaseInfo> halfstep::phases() { return kPhases; }

const PhaseInfo &halfstep::info(Phase phase) { return kPhases[size_t(phase)]; }

std::optional<Phase> halfstep::phaseNamed(StringRef name) {
  for (const PhaseInfo &info : kPhases)
    if (info.name == name)
      return info.phase;
  return std::nullopt;
}

std::optional<Phase> halfstep::finishedPhase(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(table::attr::kPhase);
  return name ? phaseNamed(name) : std::nullopt;
}

LogicalResult halfstep::runPhases(ModuleOp module, const Recipe &recipe, Phase last,
                                  llvm::function_ref<void(Phase, ModuleOp)> observe) {
  auto done = finishedPhase(module);
  for (const PhaseInfo &phase : kPhases) {
    if (!phase.build || (done && phase.phase <= *done) || phase.phase > last)
      continue;
    PassManager pm(module.getContext());
    buildPhase(pm, phase, recipe);
    if (failed(runReproducibly(pm, module)))
      return failure();
    module->setAttr(table::attr::kPhase, StringAttr::get(module.getContext(), phase.name));
    if (observe)
      observe(phase.phase, module);
  }
  return success();
}

void halfstep::registerPassesAndPhases() {
  registerHalfstepPasses();
  for (const PhaseInfo &phase : kPhases)
    if (phase.build)
      // The registry keeps the registration; the phase itself is static data.
      PassPipelineRegistration<PhaseOptions>(
          ("phase-" + phase.name).str(), phase.help,
          [&phase](OpPassManager &pm, const PhaseOptions &options) {
            buildPhase(pm, phase, options.recipe());
          });
}

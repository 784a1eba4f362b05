//===- VerifyPhase.cpp - Check what a phase promises ----------------------===//
//
// The phases that still speak of values; VerifyKernels.cpp and VerifyMemory.cpp have the others.
//
//===----------------------------------------------------------------------===//

#include "passes/Directory.h"
#include "passes/Passes.h"
#include "passes/PhaseVerifier.h"
#include "llvm/ADT/StringSwitch.h"

namespace halfstep {
#define GEN_PASS_DEF_VERIFYPHASEPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
namespace attr = halfstep::train::attr;

LogicalResult halfstep::brokenPromise(Location location, StringRef phase, const Twine &what,
                                      const Twine &detail) {
  auto diagnostic = emitError(location) << "the " << phase << " phase left " << what;
  diagnostic.attachNote() << "verify-phase: " << detail;
  diagnostic.attachNote()
      << "help: unless somebody has edited the module, this is a fault of halfstep, not of the "
         "model; please report it with the files that --dump-phases DIR writes";
  return diagnostic;
}

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

/// The functions that the phase promises to have made.
static LogicalResult verifyFunctions(ModuleOp module, StringRef phase, ArrayRef<StringRef> names) {
  for (StringRef name : names)
    if (!module.lookupSymbol<func::FuncOp>(name))
      return brokenPromise(module.getLoc(), phase, "a module without @" + name,
                           "expected a func.func @" + name);
  return success();
}

/// Calls `verify` on every op on tensors; stops at the first failure.
static LogicalResult forEachOp(ModuleOp module,
                               llvm::function_ref<LogicalResult(Operation *)> verify) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.front().without_terminator())
      if (failed(verify(&op)))
        return failure();
  return success();
}

LogicalResult halfstep::verifyImport(ModuleOp module) {
  if (failed(verifyFunctions(module, "import", {"forward"})) ||
      failed(verifySignatures(module, "import")))
    return failure();
  return forEachOp(module, [](Operation *op) -> LogicalResult {
    if (!isa<train::TrainDialect>(op->getDialect()) && !isa<arith::ConstantOp>(op))
      return brokenPromise(op->getLoc(), "import", "an op that is not one of the train dialect",
                           "'" + op->getName().getStringRef() + "'");
    // Constants have none: folding merges those of several nodes.
    if (isa<UnknownLoc>(op->getLoc()) && !isa<arith::ConstantOp>(op))
      return brokenPromise(op->getLoc(), "import", "an op that belongs to no node of the file",
                           "'" + op->getName().getStringRef() + "' has an unknown location");
    return success();
  });
}

/// @micro returns a loss and the gradient of every trained parameter, and has one seed.
static LogicalResult verifyGradients(func::FuncOp micro, StringRef phase) {
  llvm::StringMap<Type> trained;
  unsigned seeds = 0;
  for (unsigned i = 0; i < micro.getNumArguments(); ++i) {
    seeds += bool(micro.getArgAttr(i, attr::kSeed));
    if (!micro.getArgAttr(i, attr::kTrainable))
      continue;
    auto copied = micro.getArgAttrOfType<StringAttr>(i, attr::kCopy);
    trained[copied ? copied : micro.getArgAttrOfType<StringAttr>(i, attr::kParameter)] =
        micro.getArgumentTypes()[i];
  }
  if (seeds != 1 || micro.getNumResults() == 0 || !micro.getResultAttr(0, attr::kMetric))
    return brokenPromise(micro.getLoc(), phase, "a backward pass without loss or seed",
                         "@micro must have one argument with train.seed, and the loss as its first "
                         "result");

  for (unsigned i = 0; i < micro.getNumResults(); ++i) {
    auto type = cast<RankedTensorType>(micro.getResultTypes()[i]);
    if (micro.getResultAttr(i, attr::kMetric) &&
        (i > 0 || type.getRank() != 0 || !isa<FloatType>(type.getElementType()) ||
         type.getElementTypeBitWidth() < 32))
      return brokenPromise(micro.getLoc(), phase, "a loss that is not a number of f32 or f64",
                           "result " + Twine(i) + " of @micro is " + text(type));
    auto name = micro.getResultAttrOfType<StringAttr>(i, attr::kGradient);
    if (!name)
      continue;
    auto parameter = trained.find(name);
    if (parameter == trained.end() || !isa<FloatType>(type.getElementType()) ||
        cast<RankedTensorType>(parameter->second).getShape() != type.getShape())
      return brokenPromise(micro.getLoc(), phase, "a gradient that no trained parameter has",
                           "result " + Twine(i) + " of @micro, of '" + name.getValue() + "', is " +
                               text(type));
    trained.erase(parameter);
  }
  if (!trained.empty())
    return brokenPromise(micro.getLoc(), phase, "a trained parameter without gradient",
                         "@micro has no result train.gradient = \"" + trained.begin()->first() +
                             "\"");
  return success();
}

/// The functions of a model that is trained, or the one of a model that only runs forward.
static LogicalResult verifyTraining(ModuleOp module, StringRef phase) {
  auto micro = module.lookupSymbol<func::FuncOp>("micro");
  SmallVector<StringRef> functions{"forward"};
  if (micro)
    functions.push_back("evaluate");
  return failure(failed(verifyFunctions(module, phase, functions)) ||
                 failed(verifySignatures(module, phase)) ||
                 (micro && failed(verifyGradients(micro, phase))));
}

LogicalResult halfstep::verifyGrad(ModuleOp module) { return verifyTraining(module, "grad"); }

LogicalResult halfstep::verifyPrecision(ModuleOp module) {
  if (failed(verifyTraining(module, "precision")))
    return failure();
  return forEachOp(module, [](Operation *op) -> LogicalResult {
    if (isa<train::AdjointOp>(op))
      return brokenPromise(op->getLoc(), "precision", "an adjoint",
                           "expand-adjoints must have replaced every train.adjoint");
    if (isa<train::CastOp, train::StochasticCastOp>(op))
      return success();
    Type first;
    for (Type type : llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()),
                                        SmallVector<Type>(op->getResultTypes()))) {
      Type element = getElementTypeOrSelf(type);
      if (!isa<FloatType>(element))
        continue;
      if (first && first != element)
        return brokenPromise(op->getLoc(), "precision", "an op that mixes float types",
                             "'" + op->getName().getStringRef() + "' has " + text(first) + " and " +
                                 text(element) + "; types change in train.cast only");
      first = element;
    }
    return success();
  });
}

LogicalResult halfstep::verifyUpdate(ModuleOp module) {
  SmallVector<StringRef> functions{"infer"};
  if (module.lookupSymbol("micro"))
    functions.append({"evaluate", "update"});
  if (failed(verifyFunctions(module, "update", functions)))
    return failure();
  Directory directory(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    auto verify = [&](StringRef what, unsigned number, DictionaryAttr attributes,
                      Type type) -> LogicalResult {
      Operation *named = directory.lookup(attributes);
      if (named && typeOf(named) == type)
        return success();
      return brokenPromise(function.getLoc(), "update", "a value that the directory does not have",
                           what + " " + Twine(number) + " of @" + function.getSymName() + ", " +
                               text(type) + ", is " + (named ? text(typeOf(named)) : "not") +
                               " in the directory");
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(verify("argument", i, function.getArgAttrDict(i), function.getArgumentTypes()[i])))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(verify("result", i, function.getResultAttrDict(i), function.getResultTypes()[i])))
        return failure();
  }
  for (auto tensor : module.getOps<table::TensorOp>()) {
    Type element = typeOf(tensor).getElementType();
    if (tensor.getRole() == table::Role::Optimizer && !element.isF32() && !element.isF64())
      return brokenPromise(tensor.getLoc(), "update", "optimizer state of less than 32 bits",
                           "'" + tensor.getName() + "' is " + text(typeOf(tensor)));
  }
  return success();
}

namespace {
struct VerifyPhase : halfstep::impl::VerifyPhasePassBase<VerifyPhase> {
  using Base::Base;

  void runOnOperation() override {
    auto verify = llvm::StringSwitch<LogicalResult (*)(ModuleOp)>(phase)
                      .Case("import", verifyImport)
                      .Case("grad", verifyGrad)
                      .Case("precision", verifyPrecision)
                      .Case("update", verifyUpdate)
                      .Case("kernels", verifyKernels)
                      .Case("memory", verifyMemory)
                      .Default(nullptr);
    if (!verify) {
      emitError(getOperation().getLoc()) << "verify-phase: there is no phase '" << phase << "'";
      return signalPassFailure();
    }
    if (failed(verifyBodies(getOperation(), phase)) || failed(verify(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

//===- Ptx.cpp - CUDA kernels as PTX -------------------------------------------------------===//

#include "codegen/Ptx.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace llvm;
using namespace halfstep::codegen;

namespace {
struct Architecture {
  StringLiteral name, ptxVersion;
};
} // namespace

// PTX versions as old as the architecture allows: newer drivers read them all.
static constexpr Architecture architectures[] = {
    {"sm_80", "+ptx70"}, {"sm_86", "+ptx71"}, {"sm_89", "+ptx78"}, {"sm_90", "+ptx78"}};

/// A file of the toolkit where it is installed beside this program, else where it was, at `built`,
/// when that was built.
static std::string findInToolkit(StringRef built) {
  SmallString<128> path(sys::path::parent_path(sys::fs::getMainExecutable(nullptr, nullptr)));
  sys::path::append(path, "..", "lib", "halfstep", sys::path::filename(built));
  return sys::fs::exists(path) ? path.str().str() : built.str();
}

Expected<CudaTarget> CudaTarget::get(StringRef architecture) {
  if (none_of(architectures,
              [&](const Architecture &known) { return known.name == architecture; })) {
    std::string names;
    for (const Architecture &known : architectures)
      names += (names.empty() ? "" : ", ") + known.name.str();
    return createStringError("there is no architecture '" + architecture +
                             "'; there are: " + names);
  }
  return CudaTarget{architecture.str(), findInToolkit(HALFSTEP_LIBDEVICE),
                    findInToolkit(HALFSTEP_PTXAS)};
}

static std::unique_ptr<TargetMachine> createMachine(const CudaTarget &target) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  const std::string triple = "nvptx64-nvidia-cuda";
  std::string error;
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  assert(found && "libLLVM has the NVPTX back end");
  const Architecture *architecture = find_if(
      architectures, [&](const Architecture &known) { return known.name == target.architecture; });
  return std::unique_ptr<TargetMachine>(
      found->createTargetMachine(triple, architecture->name, architecture->ptxVersion, {},
                                 Reloc::PIC_, {}, CodeGenOptLevel::Aggressive));
}

static void markKernel(Function &function, const Grid &grid) {
  Module &module = *function.getParent();
  NamedMDNode *annotations = module.getOrInsertNamedMetadata("nvvm.annotations");
  auto annotate = [&](StringRef what, int64_t value) {
    LLVMContext &context = module.getContext();
    annotations->addOperand(MDNode::get(
        context, {ValueAsMetadata::get(&function), MDString::get(context, what),
                  ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), value))}));
  };
  annotate("kernel", 1);
  annotate("maxntidx", grid.threads);
  // A block on its own has a multiprocessor's registers to itself; ptxas would keep some for
  // others.
  if (int64_t together = grid.blocks == 1 ? 1 : grid.together)
    annotate("minctasm", together);
}

static bool hasBarrier(const Loop &loop) {
  return any_of(loop.blocks(), [](const BasicBlock *block) {
    return any_of(*block, [](const Instruction &instruction) {
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      return call && call->getIntrinsicID() == Intrinsic::nvvm_barrier0;
    });
  });
}

/// Steps between which a block meets follow each other anyway: as copies of the code they would
/// only take registers. What is marked here, ptxas leaves alone too.
static void keepLoopsOfBarriers(Module &module, FunctionAnalysisManager &analyses) {
  for (Function &function : module)
    if (!function.isDeclaration())
      for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
        if (hasBarrier(*loop))
          loop->setLoopAlreadyUnrolled();
}

/// Keeps what an error says in the string at `text`.
static void noteError(const DiagnosticInfo *diagnostic, void *text) {
  raw_string_ostream os(*static_cast<std::string *>(text));
  DiagnosticPrinterRawOStream printer(os);
  if (diagnostic->getSeverity() == DS_Error)
    diagnostic->print(printer);
}

Error halfstep::codegen::finishKernels(Module &module, const StringMap<Grid> &grids,
                                       const CudaTarget &target) {
  std::unique_ptr<TargetMachine> machine = createMachine(target);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple().str());
  for (const auto &grid : grids)
    markKernel(*module.getFunction(grid.first()), grid.second);

  SMDiagnostic problem;
  std::unique_ptr<Module> libdevice =
      getLazyIRFileModule(target.libdevice, problem, module.getContext(), /*lazyMetadata=*/true);
  if (!libdevice)
    return createStringError(target.libdevice + ": " + problem.getMessage());
  libdevice->setDataLayout(module.getDataLayout());
  libdevice->setTargetTriple(module.getTargetTriple());
  auto internalise = [](Module &linked, const StringSet<> &symbols) {
    internalizeModule(linked, [&](const GlobalValue &value) {
      return !value.hasName() || !symbols.count(value.getName());
    });
  };
  // By default the context prints an error and ends the program.
  std::string reason;
  module.getContext().setDiagnosticHandlerCallBack(noteError, &reason);
  bool failed =
      Linker::linkModules(module, std::move(libdevice), Linker::LinkOnlyNeeded, internalise);
  module.getContext().setDiagnosticHandlerCallBack(nullptr);
  if (failed)
    return createStringError(target.libdevice + " cannot be linked with the kernels: " + reason);
  module.addModuleFlag(Module::Override, "nvvm-reflect-ftz", 0u); // subnormal numbers count
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
        function.getName() != "__nvvm_reflect")
      return createStringError("kernels call " + function.getName() + ", which libdevice has not");

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  keepLoopsOfBarriers(module, functions);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
  return Error::success();
}

std::string halfstep::codegen::emitPtx(Module &module, const CudaTarget &target) {
  std::unique_ptr<TargetMachine> machine = createMachine(target);
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile);
  passes.run(module);
  return std::string(text);
}

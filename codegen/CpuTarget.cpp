//===- CpuTarget.cpp - the processor that kernels are compiled for -------------------------===//
//
// Features and vector width are attributes of the functions: given to the code generator alone they
// do not reach the optimiser. x86-64-v2 is not offered: without FMA each fma would be a call.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CpuTarget.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"

using namespace llvm;
using namespace halfstep::codegen;

// The psABI's levels, as far as compilers make use of them.
static constexpr const char *level3[] = {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"};
static constexpr const char *level4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
static constexpr const char *halfTypes[] = {"avx512fp16", "avx512bf16"};

Expected<CpuTarget> CpuTarget::get(StringRef name) {
  CpuTarget target{name.str(), "generic", {}, 256};
  StringMap<bool> host = sys::getHostCPUFeatures();
  auto hostHas = [&](const char *feature) { return host.lookup(feature); };
  if (name == "native") {
    if (!all_of(level3, hostHas))
      return createStringError("this machine's CPU lacks AVX2, FMA or F16C, which halfstep needs; "
                               "compile for another with --cpu x86-64-v3");
    target.cpu = all_of(level4, hostHas) ? "x86-64-v4" : "x86-64-v3";
    target.tune = sys::getHostCPUName().str();
  } else if (name != "x86-64-v3" && name != "x86-64-v4") {
    return createStringError("unknown CPU '" + name + "': native, x86-64-v3 or x86-64-v4");
  }
  target.features.assign(std::begin(level3), std::end(level3));
  if (target.cpu == "x86-64-v4") {
    target.features.insert(target.features.end(), std::begin(level4), std::end(level4));
    target.vectorBits = 512;
    if (name == "native")
      copy_if(halfTypes, std::back_inserter(target.features), hostHas);
  }
  return target;
}

static std::unique_ptr<TargetMachine> createMachine(const CpuTarget &target) {
  static const bool initialised = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  std::string error, triple = "x86_64-unknown-linux-gnu";
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  assert(found && "libLLVM has the x86 back end");
  return std::unique_ptr<TargetMachine>(
      found->createTargetMachine(triple, target.cpu, "", {}, Reloc::PIC_, CodeModel::Small));
}

void halfstep::codegen::optimise(llvm::Module &module, const CpuTarget &target) {
  std::unique_ptr<TargetMachine> machine = createMachine(target);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple().str());
  std::string features = "+" + join(target.features, ",+");
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("tune-cpu", target.tune);
    function.addFnAttr("target-features", features);
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr(Attribute::NoUnwind);
  }
  // Kernels leave nothing to vectorise or to restructure; the code generator hoists and selects.
  // The default pipelines take three times as long as all the rest, and the code is as fast.
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
  ModulePassManager passes;
  passes.addPass(createModuleToFunctionPassAdaptor(EarlyCSEPass(/*UseMemorySSA=*/true)));
  passes.run(module, modules);
}

std::string halfstep::codegen::emitObject(llvm::Module &module, const CpuTarget &target) {
  std::unique_ptr<TargetMachine> machine = createMachine(target);
  SmallString<0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile);
  passes.run(module);
  return std::string(object);
}

//===- Profile.cpp - what a step costs, without running it ---------------------------------===//

#include "codegen/Profile.h"
#include "codegen/Table.h"
#include "ir/Describe.h"
#include "passes/CallDetails.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

double EntryProfile::timeOn(const Device &device) const {
  double peak = isOnTensorCores ? device.flopsOnTensors : device.flops;
  double arithmetic = double(cost.flops - cost.flopsInDouble) / peak +
                      double(cost.flopsInDouble) / device.flopsInDouble;
  return std::max(double(cost.bytesRead + cost.bytesWritten) / device.bytesPerSecond, arithmetic);
}

EntryCost ProgramProfile::cost() const {
  EntryCost sum;
  for (const EntryProfile &entry : entries)
    sum += entry.cost;
  return sum;
}

double ProgramProfile::timeOn(const Device &device) const {
  double sum = 0;
  for (const EntryProfile &entry : entries)
    sum += entry.timeOn(device);
  return sum;
}

uint64_t Profile::stepEntries() const {
  uint64_t sum = 0;
  for (const ProgramProfile &program : programs)
    sum += program.runs * program.entries.size();
  return sum;
}

EntryCost Profile::stepCost() const {
  EntryCost sum;
  for (const ProgramProfile &program : programs)
    sum += program.cost() * program.runs;
  return sum;
}

double Profile::stepTimeOn(const Device &device) const {
  double sum = 0;
  for (const ProgramProfile &program : programs)
    sum += double(program.runs) * program.timeOn(device);
  return sum;
}

/// The library multiplies 16-bit matrices on tensor cores; a kernel says so by its instructions.
static bool isOnTensorCores(Operation &entry, const PtxCode &code) {
  if (auto gemm = dyn_cast<table::GemmOp>(entry))
    return getElementTypeOrSelf(gemm.getA()).getIntOrFloatBitWidth() == 16;
  auto launch = code.launches.find(&entry);
  if (launch == code.launches.end())
    return false;
  StringRef body = StringRef(code.text).split(".entry " + launch->second.kernel + "(").second;
  return body.split("\n}").first.contains("mma.sync");
}

static FailureOr<EntryProfile> profileOf(Operation &entry) {
  FailureOr<EntryCost> cost = costOf(entry);
  if (failed(cost))
    return failure();
  auto launch = dyn_cast<table::LaunchOp>(entry);
  std::string name = launch ? launch.getKernel().str() : callName(entry);
  return EntryProfile{name, nodeNames(entry.getLoc()), *cost, {}, {}};
}

FailureOr<Profile> halfstep::codegen::profile(ModuleOp module, const Target &target) {
  Profile profile;
  PtxCode code;
  llvm::StringMap<KernelResources> resources;
  if (target.cuda) {
    FailureOr<PtxCode> compiled = compileToPtx(module, *target.cuda);
    if (failed(compiled))
      return failure();
    code = std::move(*compiled);
    int capability = 0;
    StringRef(target.cuda->architecture).drop_front(strlen("sm_")).getAsInteger(10, capability);
    for (const Device &device : devices)
      if (device.capability >= capability)
        profile.devices.push_back(device);
    if (llvm::sys::fs::can_execute(target.cuda->ptxas)) {
      llvm::Expected<Assembled> assembled = assemble(code.text, *target.cuda);
      if (!assembled)
        return module.emitError(llvm::toString(assembled.takeError()));
      resources = std::move(assembled->resources);
    } else {
      profile.note =
          target.cuda->ptxas + " is not there: registers, shared memory and spills are not known";
    }
  }
  FailureOr<int64_t> microBatches = numberOf(module, table::attr::kMicroBatches);
  if (failed(microBatches))
    return failure();
  for (StringRef name : {"init", "micro", "update", "evaluate", "infer"}) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function)
      continue;
    uint64_t runs = name == "micro" ? *microBatches : name == "update";
    ProgramProfile program{name.str(), runs, {}};
    for (Operation &op : function.front().without_terminator()) {
      if (isa<table::AliasOp>(op))
        continue;
      FailureOr<EntryProfile> entry = profileOf(op);
      if (failed(entry))
        return failure();
      entry->isOnTensorCores = isOnTensorCores(op, code);
      if (auto launch = code.launches.find(&op); launch != code.launches.end()) {
        entry->launch = launch->second;
        if (auto found = resources.find(launch->second.kernel); found != resources.end())
          entry->resources = found->second;
      }
      program.entries.push_back(std::move(*entry));
    }
    if (!program.entries.empty())
      profile.programs.push_back(std::move(program));
  }
  return profile;
}

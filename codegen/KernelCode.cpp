//===- KernelCode.cpp - the code that entries launch ---------------------------------------===//
//
// For the CPU, kernels become functions beside the tables. For CUDA they become PTX, a text in the
// tables; the same functions, retargeted to the host, are what an emulated device executes.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/KernelCode.h"
#include "codegen/Constants.h"
#include "codegen/EmitCpu.h"
#include "codegen/EmitCuda.h"
#include "codegen/LowerToLlvm.h"
#include "codegen/RetargetToHost.h"
#include "ir/Describe.h"
#include "ir/TableDialect.h"
#include "passes/CallDetails.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Target/LLVMIR/Export.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

namespace {
/// A kernel, and the entries that launch it or another one that computes the same.
struct SharedKernel {
  Operation *kernel; ///< a kernel.group or kernel.contract; on CUDA also an entry by itself
  std::string name;
  SmallVector<Operation *> entries;
};
} // namespace

/// What a kernel computes, as text: all but its name.
static std::string bodyOf(Operation *kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  StringRef name = SymbolTable::getSymbolName(kernel);
  size_t at = text.find(("@" + name).str());
  return text.erase(at, name.size() + 1);
}

/// The same of an entry that is a kernel by itself: all but its values and where they are.
static std::string bodyOfCall(Operation *entry) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  NamedAttrList attributes(entry->getAttrs());
  attributes.erase("slices");
  stream << entry->getName() << attributes.getDictionary(entry->getContext());
  llvm::interleaveComma(entry->getOperandTypes(), stream << '(');
  llvm::interleaveComma(entry->getResultTypes(), stream << ") -> ");
  return text;
}

/// With `withCalls`, convolutions and poolings are kernels, and no calls of the runtime.
static FailureOr<SmallVector<SharedKernel>> findKernels(ModuleOp module, bool withCalls) {
  SymbolTable symbols(module);
  SmallVector<SharedKernel> kernels;
  llvm::StringMap<size_t> byBody;
  llvm::DenseMap<Operation *, std::string> bodies; // a kernel may be launched many times
  WalkResult result = module.walk([&](Operation *entry) -> WalkResult {
    Operation *kernel = entry;
    if (auto launch = dyn_cast<table::LaunchOp>(entry)) {
      kernel = symbols.lookup(launch.getKernel());
      if (!isa_and_nonnull<kernel::GroupOp, kernel::ContractOp>(kernel))
        return launch.emitOpError("launches ") << launch.getKernelAttr() << ", which is no kernel";
    } else if (!withCalls || !isa<table::ConvOp, table::FusedConvOp, table::PoolOp>(entry)) {
      return success();
    }
    std::string &body = bodies[kernel];
    if (body.empty())
      body = kernel == entry ? bodyOfCall(entry) : bodyOf(kernel);
    auto [known, isNew] = byBody.try_emplace(body, kernels.size());
    if (isNew) {
      std::string name = kernel == entry ? callName(*entry) + "_" + std::to_string(kernels.size())
                                         : SymbolTable::getSymbolName(kernel).str();
      kernels.push_back({kernel, name, {}});
    }
    kernels[known->second].entries.push_back(entry);
    return success();
  });
  if (result.wasInterrupted())
    return failure();
  return kernels;
}

/// Emits each kernel by `emit(builder, kernel)` into a module of its own.
template <typename Result, typename Emit>
static FailureOr<OwningOpRef<ModuleOp>> emitEach(ModuleOp module, ArrayRef<SharedKernel> kernels,
                                                 SmallVectorImpl<Result> &results, Emit emit) {
  loadKernelDialects(*module.getContext());
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  for (const SharedKernel &shared : kernels) {
    FailureOr<Result> result = emit(builder, shared);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return code;
}

//===---------------------------------------------------------------------------------------===//
// The CPU
//===---------------------------------------------------------------------------------------===//

static FailureOr<KernelCode> emitCpuCode(ModuleOp module, ArrayRef<SharedKernel> kernels,
                                         llvm::LLVMContext &context) {
  SmallVector<Work> works;
  auto emit = [](OpBuilder &builder, const SharedKernel &shared) {
    auto group = dyn_cast<kernel::GroupOp>(shared.kernel);
    return group ? emitCpuKernel(builder, group)
                 : emitCpuKernel(builder, cast<kernel::ContractOp>(shared.kernel));
  };
  auto code = emitEach(module, kernels, works, emit);
  if (failed(code))
    return failure();
  KernelCode result;
  result.host = translateToLlvmIr(**code, context);
  if (!result.host)
    return failure();
  ConstantWriter c(*result.host);
  for (auto [shared, work] : llvm::zip(kernels, works)) {
    llvm::Function *function = result.host->getFunction(shared.name);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    llvm::Constant *detail =
        c.address(c.structure({function, c.i64(work.units), c.i64(work.grain)}));
    for (Operation *entry : shared.entries)
      result.entries[entry] = {HS_LAUNCH, detail};
  }
  return result;
}

//===---------------------------------------------------------------------------------------===//
// CUDA
//===---------------------------------------------------------------------------------------===//

namespace {
struct CudaKernels {
  SmallVector<Grid> grids; ///< in the order of the kernels
  std::string ptx;
  OwningOpRef<ModuleOp> code; ///< not lowered
};
} // namespace

static FailureOr<CudaKernels> emitCudaKernels(ModuleOp module, ArrayRef<SharedKernel> kernels,
                                              const CudaTarget &target) {
  CudaKernels result;
  auto emitKernel = [](OpBuilder &builder, const SharedKernel &shared) {
    if (auto group = dyn_cast<kernel::GroupOp>(shared.kernel))
      return emitCudaKernel(builder, group);
    if (auto conv = dyn_cast<table::ConvOp>(shared.kernel))
      return emitCudaKernel(builder, conv, shared.name);
    if (auto conv = dyn_cast<table::FusedConvOp>(shared.kernel))
      return emitCudaKernel(builder, conv,
                            SymbolTable::lookupNearestSymbolFrom<kernel::GroupOp>(
                                conv, conv.getKernelAttr()),
                            shared.name);
    if (auto pool = dyn_cast<table::PoolOp>(shared.kernel))
      return emitCudaKernel(builder, pool, shared.name);
    return emitCudaKernel(builder, cast<kernel::ContractOp>(shared.kernel));
  };
  auto emit = [&](OpBuilder &builder, const SharedKernel &shared) -> FailureOr<Grid> {
    FailureOr<Grid> grid = emitKernel(builder, shared);
    if (succeeded(grid) && grid->blocks > std::numeric_limits<int32_t>::max())
      return shared.kernel->emitError("needs ")
             << grid->blocks << " blocks, more than a device launches";
    return grid;
  };
  auto code = emitEach(module, kernels, result.grids, emit);
  if (failed(code))
    return failure();
  result.code = std::move(*code);
  OwningOpRef<ModuleOp> forDevice = result.code->clone();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> device =
      translateToLlvmIr(*forDevice, context, Functions::Libdevice);
  if (!device)
    return failure();
  llvm::StringMap<Grid> grids;
  for (auto [shared, grid] : llvm::zip(kernels, result.grids))
    grids[shared.name] = grid;
  if (llvm::Error error = finishKernels(*device, grids, target))
    return module.emitError(llvm::toString(std::move(error)));
  result.ptx = emitPtx(*device, target);
  return result;
}

/// How many bytes a kernel is given with each of its buffers: by the entry that gives most. A
/// result in place of an argument is not a buffer of its own.
static SmallVector<int64_t> givenBytes(const SharedKernel &shared) {
  auto group = dyn_cast<kernel::GroupOp>(shared.kernel);
  SmallVector<int64_t> bytes;
  for (Operation *entry : shared.entries) {
    auto slices = entry->getAttrOfType<ArrayAttr>("slices");
    if (!slices)
      continue; // what is no table yet is refused where the table is written
    size_t buffer = 0;
    for (auto [i, slice] : llvm::enumerate(slices.getAsRange<table::SliceAttr>())) {
      size_t arguments = entry->getNumOperands(), result = i - arguments;
      if (group && i >= arguments && result < group.getOuts().size() &&
          group.getOuts()[result] < int64_t(arguments))
        continue;
      bytes.resize(std::max(bytes.size(), buffer + 1));
      bytes[buffer] = std::max<int64_t>(bytes[buffer], slice.getBytes());
      ++buffer;
    }
  }
  return bytes;
}

/// The functions of an emulated device, as an array of hs_emulated_function.
static FailureOr<llvm::Constant *> emulate(CudaKernels &cuda, ArrayRef<SharedKernel> kernels,
                                           KernelCode &result, llvm::LLVMContext &context) {
  if (failed(lowerToLlvm(*cuda.code, Functions::Portable)))
    return failure();
  retargetToHost(*cuda.code);
  result.host = translateModuleToLLVMIR(*cuda.code, context, "halfstep");
  if (!result.host)
    return failure();
  ConstantWriter c(*result.host);
  SmallVector<llvm::Constant *> functions;
  for (const SharedKernel &shared : kernels) {
    llvm::Function *function = result.host->getFunction(shared.name);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    auto sharedBytes =
        cuda.code->lookupSymbol(shared.name)->getAttrOfType<IntegerAttr>(kSharedBytes);
    functions.push_back(c.structure({c.string(shared.name), function, c.i64(sharedBytes.getInt()),
                                     c.string(nodeNames(shared.entries.front()->getLoc())),
                                     c.array(givenBytes(shared))}));
  }
  return c.array(functions);
}

static FailureOr<KernelCode> emitCudaCode(ModuleOp module, ArrayRef<SharedKernel> kernels,
                                          const Target &target, llvm::LLVMContext &context) {
  FailureOr<CudaKernels> cuda = emitCudaKernels(module, kernels, *target.cuda);
  if (failed(cuda))
    return failure();
  KernelCode result;
  llvm::Constant *emulated = nullptr;
  if (target.withEmulation) {
    FailureOr<llvm::Constant *> functions = emulate(*cuda, kernels, result, context);
    if (failed(functions))
      return failure();
    emulated = *functions;
  } else {
    result.host = std::make_unique<llvm::Module>("halfstep", context);
  }
  ConstantWriter c(*result.host);
  result.cuda = c.address(c.structure(
      {c.string(target.cuda->architecture), c.string(cuda->ptx), c.i64(target.withEmulation),
       c.i64(target.withEmulation ? kernels.size() : 0), emulated ? emulated : c.null()}));
  for (auto [shared, grid] : llvm::zip(kernels, cuda->grids)) {
    llvm::Constant *detail =
        c.address(c.structure({c.string(shared.name), c.u32(grid.blocks), c.u32(grid.threads)}));
    for (Operation *entry : shared.entries)
      result.entries[entry] = {HS_GRID, detail};
  }
  return result;
}

FailureOr<PtxCode> halfstep::codegen::compileToPtx(ModuleOp module, const CudaTarget &target) {
  FailureOr<SmallVector<SharedKernel>> kernels = findKernels(module, /*withCalls=*/true);
  if (failed(kernels))
    return failure();
  FailureOr<CudaKernels> cuda = emitCudaKernels(module, *kernels, target);
  if (failed(cuda))
    return failure();
  PtxCode code;
  code.text = std::move(cuda->ptx);
  for (auto [shared, grid] : llvm::zip(*kernels, cuda->grids))
    for (Operation *entry : shared.entries)
      code.launches[entry] = {shared.name, grid};
  return code;
}

FailureOr<KernelCode> halfstep::codegen::emitKernelCode(ModuleOp module, const Target &target,
                                                        llvm::LLVMContext &context) {
  FailureOr<SmallVector<SharedKernel>> kernels =
      findKernels(module, /*withCalls=*/target.cuda.has_value());
  if (failed(kernels))
    return failure();
  return target.cuda ? emitCudaCode(module, *kernels, target, context)
                     : emitCpuCode(module, *kernels, context);
}

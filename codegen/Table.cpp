//===- Table.cpp - the tables of an artefact -----------------------------------------------===//
//
// One struct of runtime/step_abi.h after the other, in the order of its members there.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/Table.h"
#include "codegen/Constants.h"
#include "ir/Describe.h"
#include "ir/TrainDialect.h"
#include "passes/CallDetails.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;
using llvm::Constant;

namespace {
/// A slice that an entry reads or writes.
struct Buffer {
  table::SliceAttr slice;
  Type elementType;
  bool isRead = false, isWritten = false, isGradient = false;
};

class TableWriter {
public:
  TableWriter(ModuleOp module, const KernelCode &kernels, const CpuTarget &target)
      : module(module), kernels(kernels), target(target), code(*kernels.host), c(code),
        symbols(module) {}

  LogicalResult write();

private:
  FailureOr<Constant *> tensor(table::TensorOp op);
  FailureOr<Constant *> program(StringRef name);
  FailureOr<Constant *> entry(Operation &op);
  FailureOr<Constant *> launch(table::LaunchOp op);
  Constant *window(const hs_window &window);
  Constant *constant(const hs_gemm &gemm);
  Constant *constant(const hs_conv &conv);
  Constant *constant(const hs_pool &pool);
  template <typename Op> FailureOr<Constant *> call(hs_entry_kind kind, Op op, StringRef name);
  Constant *slice(table::SliceAttr slice);
  bool isGradient(Value value);
  SmallVector<Buffer> buffersOf(Operation *op);
  FailureOr<Constant *> entry(hs_entry_kind kind, Operation *op, ArrayRef<Buffer> buffers,
                              Constant *detail, StringRef name);
  FailureOr<Constant *> string(StringRef attribute);
  void writeQuery(Constant *artefact);

  ModuleOp module;
  const KernelCode &kernels;
  const CpuTarget &target;
  llvm::Module &code;
  ConstantWriter c;
  SymbolTable symbols;
};
} // namespace

Constant *TableWriter::slice(table::SliceAttr slice) {
  return c.structure({c.i64(slice.getBuffer()), c.i64(slice.getOffset()), c.i64(slice.getBytes())});
}

//===---------------------------------------------------------------------------------------===//
// The directory
//===---------------------------------------------------------------------------------------===//

FailureOr<Constant *> TableWriter::tensor(table::TensorOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  std::optional<hs_type> element = storageTypeOf(type.getElementType());
  if (!element)
    return op.emitOpError("has no storage type for ") << type.getElementType();
  std::optional<hs_type> fileElement =
      op.getFileType() ? storageTypeOf(*op.getFileType()) : element;
  if (!fileElement)
    return op.emitOpError("has no storage type for ") << *op.getFileType();
  if (!op.getSlice())
    return op.emitOpError("has no slice: the memory phase has not run");
  auto numberOr = [&](std::optional<int64_t> value, int64_t other) {
    return c.i64(value.value_or(other));
  };
  Constant *range = c.null();
  if (std::optional<table::Range> given = op.getRange()) {
    table::Bounds bounds = boundsOf(*given);
    range = c.address(
        c.structure({c.f64(bounds.smallest), c.f64(bounds.largest), c.string(bounds.requirement)}));
  }
  double initial = op.getInitial() ? op.getInitial()->convertToDouble() : 0;
  return c.structure({c.string(op.getName()), c.u32(uint32_t(op.getRole())), c.u32(*element),
                      c.u32(type.getRank()), c.u32(op.getTrainable()), c.array(type.getShape()),
                      slice(*op.getSlice()), c.f64(initial), numberOr(op.getClassCount(), 0),
                      numberOr(op.getIgnoredClass(), INT64_MIN), c.u32(*fileElement), range});
}

//===---------------------------------------------------------------------------------------===//
// Programs
//===---------------------------------------------------------------------------------------===//

/// Whether a value of a program belongs to the backward pass. A kernel's values do not all belong
/// to one pass: the op in its region that computes this one says where it comes from.
bool TableWriter::isGradient(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return false;
  Operation *op = result.getOwner();
  if (isa<table::AliasOp, table::CopyOp>(op))
    return isGradient(op->getOperand(0));
  if (auto launch = dyn_cast<table::LaunchOp>(op))
    if (auto group = symbols.lookup<kernel::GroupOp>(launch.getKernel()))
      if (Operation *computing =
              group.getYield().getValues()[result.getResultNumber()].getDefiningOp())
        return train::isGradient(computing->getLoc());
  return train::isGradient(op->getLoc());
}

/// The operands, then the results.
SmallVector<Buffer> TableWriter::buffersOf(Operation *op) {
  SmallVector<Buffer> buffers;
  auto slices = op->getAttrOfType<ArrayAttr>("slices").getAsRange<table::SliceAttr>().begin();
  for (Value operand : op->getOperands())
    buffers.push_back({*slices++, getElementTypeOrSelf(operand), /*isRead=*/true});
  // What a workspace holds is nobody's business, so that no check looks at it.
  for (Value result : op->getResults())
    buffers.push_back({*slices++, getElementTypeOrSelf(result), /*isRead=*/false,
                       /*isWritten=*/!table::isWorkspace(result), isGradient(result)});
  return buffers;
}

FailureOr<Constant *> TableWriter::entry(hs_entry_kind kind, Operation *op,
                                         ArrayRef<Buffer> buffers, Constant *detail,
                                         StringRef name) {
  SmallVector<Constant *> slices, uses;
  for (const Buffer &buffer : buffers) {
    std::optional<hs_type> type = storageTypeOf(buffer.elementType);
    if (!type)
      return op->emitOpError("has no storage type for ") << buffer.elementType;
    slices.push_back(slice(buffer.slice));
    uses.push_back(c.structure(
        {c.u32(*type), c.u32(buffer.isRead), c.u32(buffer.isWritten), c.u32(buffer.isGradient)}));
  }
  return c.structure({c.u32(kind), c.u32(slices.size()), c.array(slices), detail, c.string(name),
                      c.string(nodeNames(op->getLoc())), c.array(uses)});
}

FailureOr<Constant *> TableWriter::launch(table::LaunchOp op) {
  EntryCode kernel = kernels.entries.lookup(op);
  // A result in place of an argument is not a buffer of its own.
  SmallVector<Buffer> buffers = buffersOf(op);
  auto group = symbols.lookup<kernel::GroupOp>(op.getKernel());
  if (group) {
    size_t arguments = group.getBlock().getNumArguments();
    if (buffers.size() != arguments + group.getOuts().size())
      return op.emitOpError("has ")
             << buffers.size() << " slices for " << arguments + group.getOuts().size() << " values";
    auto results = llvm::to_vector(llvm::drop_begin(buffers, arguments));
    buffers.truncate(arguments);
    for (auto [result, out] : llvm::zip(results, group.getOuts())) {
      if (out >= int64_t(arguments)) {
        buffers.push_back(result);
        continue;
      }
      if (result.slice != buffers[out].slice)
        return op.emitOpError("has a result in place of argument ") << out << " in another slice";
      buffers[out].isWritten = true;
      buffers[out].isGradient = result.isGradient;
    }
  }
  return entry(kernel.kind, op, buffers, kernel.detail, op.getKernel());
}

Constant *TableWriter::window(const hs_window &window) {
  auto numbers = [&](const int64_t(&values)[3]) { return c.numbers(values); };
  return c.structure({numbers(window.kernel), numbers(window.stride), numbers(window.dilation),
                      numbers(window.pad), numbers(window.input), numbers(window.output)});
}

Constant *TableWriter::constant(const hs_gemm &gemm) {
  return c.structure({c.u32(gemm.a_type), c.u32(gemm.b_type), c.u32(gemm.c_type),
                      c.u32(gemm.transpose_a), c.u32(gemm.transpose_b), c.u32(gemm.has_bias),
                      c.i64(gemm.batch), c.i64(gemm.m), c.i64(gemm.n), c.i64(gemm.k),
                      c.i64(gemm.a_stride), c.i64(gemm.b_stride), c.i64(gemm.c_stride),
                      c.i64(gemm.lda), c.i64(gemm.ldb), c.i64(gemm.ldc)});
}

Constant *TableWriter::constant(const hs_conv &conv) {
  return c.structure({c.u32(conv.kind), c.u32(conv.a_type), c.u32(conv.b_type), c.u32(conv.c_type),
                      c.u32(conv.channels_last), c.i64(conv.batch), c.i64(conv.groups),
                      c.i64(conv.input_channels), c.i64(conv.output_channels), c.i64(conv.parts),
                      window(conv.window)});
}

Constant *TableWriter::constant(const hs_pool &pool) {
  return c.structure({c.u32(pool.kind), c.u32(pool.type), c.u32(pool.channels_last),
                      c.i64(pool.batch), c.i64(pool.channels), window(pool.window),
                      c.numbers(pool.counted_front), c.numbers(pool.counted_behind)});
}

/// A library call: the slices are the op's.
template <typename Op>
FailureOr<Constant *> TableWriter::call(hs_entry_kind kind, Op op, StringRef name) {
  auto detail = describe(op);
  if (failed(detail))
    return failure();
  return entry(kind, op, buffersOf(op), c.address(constant(*detail)), name);
}

FailureOr<Constant *> TableWriter::entry(Operation &op) {
  auto slices = op.getAttrOfType<ArrayAttr>("slices");
  if (!slices || slices.size() != op.getNumOperands() + op.getNumResults())
    return op.emitOpError("needs a slice for each operand and result: has the memory phase run?");
  if (auto launchOp = dyn_cast<table::LaunchOp>(op))
    return launch(launchOp);
  std::string name = callName(op);
  if (EntryCode code = kernels.entries.lookup(&op); code.detail)
    return entry(code.kind, &op, buffersOf(&op), code.detail, name);
  if (auto gemm = dyn_cast<table::GemmOp>(op))
    return call(HS_GEMM, gemm, name);
  if (auto conv = dyn_cast<table::ConvOp>(op))
    return call(HS_CONV, conv, name);
  if (auto pool = dyn_cast<table::PoolOp>(op))
    return call(HS_POOL, pool, name);
  if (isa<table::CopyOp>(op)) {
    SmallVector<Buffer> buffers = buffersOf(&op);
    return entry(HS_COPY, &op, {buffers[1], buffers[0]}, c.null(), "copy");
  }
  if (isa<table::ZeroOp>(op))
    return entry(HS_FILL, &op, buffersOf(&op), c.null(), "zero");
  return op.emitOpError("is not an entry of a program");
}

FailureOr<Constant *> TableWriter::program(StringRef name) {
  SmallVector<Constant *> entries;
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    for (Operation &op : function.getOps()) {
      if (isa<table::AliasOp, func::ReturnOp>(op))
        continue;
      FailureOr<Constant *> constant = entry(op);
      if (failed(constant))
        return failure();
      entries.push_back(*constant);
    }
  return c.structure({c.i64(entries.size()), c.array(entries)});
}

//===---------------------------------------------------------------------------------------===//
// The artefact
//===---------------------------------------------------------------------------------------===//

FailureOr<int64_t> halfstep::codegen::numberOf(ModuleOp module, StringRef attribute) {
  if (auto value = module->getAttrOfType<IntegerAttr>(attribute))
    return value.getInt();
  return module.emitError("lacks the attribute ") << attribute;
}

FailureOr<Constant *> TableWriter::string(StringRef attribute) {
  if (auto value = module->getAttrOfType<StringAttr>(attribute))
    return c.string(value.getValue());
  return module.emitError("lacks the attribute ") << attribute;
}

LogicalResult TableWriter::write() {
  // Input i is buffer HS_BUFFER_INPUTS + i.
  SmallVector<std::pair<uint64_t, Constant *>> numbered;
  SmallVector<Constant *> inputs, tensors;
  for (auto op : module.getOps<table::TensorOp>()) {
    FailureOr<Constant *> constant = tensor(op);
    if (failed(constant))
      return failure();
    bool isInput = op.getRole() == table::Role::Input || op.getRole() == table::Role::Label;
    if (isInput)
      numbered.push_back({op.getSlice()->getBuffer(), *constant});
    else
      tensors.push_back(*constant);
  }
  llvm::sort(numbered, llvm::less_first());
  for (auto [i, input] : llvm::enumerate(numbered)) {
    if (input.first != HS_BUFFER_INPUTS + i)
      return module.emitError("has no input in buffer ") << HS_BUFFER_INPUTS + i;
    inputs.push_back(input.second);
  }

  SmallVector<Constant *> programs;
  for (StringRef name : {"init", "micro", "update", "evaluate", "infer"}) { // as hs_program_kind
    FailureOr<Constant *> constant = program(name);
    if (failed(constant))
      return failure();
    programs.push_back(*constant);
  }
  FailureOr<int64_t> stateBytes = numberOf(module, table::attr::kStateBytes),
                     arenaBytes = numberOf(module, table::attr::kArenaBytes),
                     scratchBytes = numberOf(module, table::attr::kScratchBytes),
                     inputSlots = numberOf(module, table::attr::kInputSlots),
                     microBatches = numberOf(module, table::attr::kMicroBatches);
  FailureOr<Constant *> recipe = string(table::attr::kRecipe),
                        graphHash = string(table::attr::kGraphHash);
  if (failed(stateBytes) || failed(arenaBytes) || failed(scratchBytes) || failed(inputSlots) ||
      failed(microBatches) || failed(recipe) || failed(graphHash))
    return failure();
  auto *programType = llvm::ArrayType::get(programs[0]->getType(), HS_PROGRAM_COUNT);
  Constant *artefact = c.structure(
      {c.u32(HALFSTEP_ABI_VERSION), c.u32(inputs.size()), c.i64(tensors.size()), c.array(inputs),
       c.array(tensors), c.i64(*stateBytes), c.i64(*arenaBytes), c.i64(*scratchBytes),
       c.i64(*inputSlots), c.i64(*microBatches), *recipe, *graphHash,
       c.string(llvm::join(target.features, ",")), kernels.cuda ? kernels.cuda : c.null(),
       llvm::ConstantArray::get(programType, programs)});
  assert(code.getDataLayout().getTypeAllocSize(artefact->getType()) == sizeof(hs_artefact));
  writeQuery(c.address(artefact));
  return success();
}

/// const hs_artefact *halfstep_query(uint32_t version)
void TableWriter::writeQuery(Constant *artefact) {
  llvm::IRBuilder<> b(code.getContext());
  auto *type = llvm::FunctionType::get(b.getPtrTy(), {b.getInt32Ty()}, /*isVarArg=*/false);
  auto *function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, HALFSTEP_QUERY_SYMBOL, code);
  b.SetInsertPoint(llvm::BasicBlock::Create(code.getContext(), "", function));
  llvm::Value *isOurs = b.CreateICmpEQ(function->getArg(0), c.u32(HALFSTEP_ABI_VERSION));
  b.CreateRet(b.CreateSelect(isOurs, artefact, c.null()));
}

LogicalResult halfstep::codegen::writeTables(ModuleOp module, const KernelCode &kernels,
                                             const CpuTarget &target) {
  return TableWriter(module, kernels, target).write();
}

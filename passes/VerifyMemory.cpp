//===- VerifyMemory.cpp - What the memory phase promises ------------------===//
//
// Follows memory as the runtime will: what a slice holds is known at every entry, writing one makes
// all values that overlap it unreadable, and every read must find the value that it names. That is
// more than "no two live slices overlap": it also covers state that is updated in place, kernels
// that write where they read, and copies in the wrong order.
//
//===----------------------------------------------------------------------===//

#include "ir/KernelDialect.h"
#include "passes/CallDetails.h"
#include "passes/Directory.h"
#include "passes/PhaseVerifier.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::table;

static LogicalResult broken(Location location, const Twine &what, const Twine &detail) {
  return brokenPromise(location, "memory", what, detail);
}

static std::string text(SliceAttr slice) {
  std::string result;
  llvm::raw_string_ostream(result) << slice;
  return result;
}

namespace {

class ProgramVerifier {
public:
  ProgramVerifier(func::FuncOp program, const Directory &directory, uint64_t stateBytes,
                  uint64_t arenaBytes)
      : program(program), directory(directory), bufferBytes{stateBytes, arenaBytes} {}

  LogicalResult run() {
    for (BlockArgument argument : program.getArguments())
      if (Operation *named = directory.argument(program, argument.getArgNumber()))
        held[argument] = {sliceOf(named), nullptr};
    for (Operation &op : program.front().without_terminator())
      if (!isa<AliasOp>(op) && failed(verifyEntry(&op)))
        return failure();
    return verifyReturn(program.front().getTerminator());
  }

private:
  struct Holding {
    SliceAttr slice;
    Operation *overwrittenBy;
  };

  LogicalResult verifyEntry(Operation *entry) {
    auto slices = entry->getAttrOfType<ArrayAttr>("slices");
    unsigned operands = entry->getNumOperands(), results = entry->getNumResults();
    if (!slices || slices.size() != operands + results)
      return broken(entry->getLoc(), "an entry without its memory",
                    "'" + entry->getName().getStringRef() + "' needs " + Twine(operands + results) +
                        " slices");
    auto slice = [&](unsigned i) { return cast<SliceAttr>(slices[i]); };
    for (unsigned i = 0; i < operands; ++i)
      if (failed(verifyRead(entry, i, slice(i))))
        return failure();
    for (unsigned i = 0; i < results; ++i)
      if (failed(verifyWrite(entry, i, slice)))
        return failure();
    for (OpResult result : entry->getResults()) {
      SliceAttr written = slice(operands + result.getResultNumber());
      for (auto &[value, holding] : held)
        if (overlap(holding.slice, written) && !holding.overwrittenBy)
          holding.overwrittenBy = entry;
      held[result] = {written, nullptr};
    }
    return success();
  }

  LogicalResult verifyRead(Operation *reader, unsigned number, SliceAttr slice) {
    Holding holding = held.lookup(viewed(reader->getOperand(number)));
    holding.slice = sliceWithin(holding.slice, reader->getOperand(number));
    if (!slice || holding.slice != slice)
      return broken(reader->getLoc(), "a value that is read where it is not",
                    "operand " + Twine(number) + " is in " + text(holding.slice) + ", read from " +
                        text(slice));
    if (!holding.overwrittenBy)
      return success();
    auto overwriter = holding.overwrittenBy->getAttrOfType<FlatSymbolRefAttr>("kernel");
    return broken(
        reader->getLoc(), "a value that is overwritten before it is read",
        "operand " + Twine(number) + " in " + text(slice) + ", overwritten by '" +
            (overwriter ? overwriter.getValue() : holding.overwrittenBy->getName().getStringRef()) +
            "'");
  }

  /// The operand in whose place the kernel of `entry` computes the result.
  std::optional<unsigned> operandInPlace(Operation *entry, unsigned result) {
    auto launch = dyn_cast<LaunchOp>(entry);
    if (!launch)
      return std::nullopt;
    auto group =
        SymbolTable::lookupNearestSymbolFrom<kernel::GroupOp>(launch, launch.getKernelAttr());
    if (!group || group.getOuts()[result] >= int64_t(group.getBlock().getNumArguments()))
      return std::nullopt;
    return group.getOuts()[result];
  }

  LogicalResult verifyWrite(Operation *entry, unsigned result,
                            llvm::function_ref<SliceAttr(unsigned)> slice) {
    unsigned operands = entry->getNumOperands(), written = operands + result;
    auto fault = [&](const Twine &what) {
      return broken(entry->getLoc(), what,
                    "result " + Twine(result) + " in " + text(slice(written)));
    };
    if (slice(written).getBytes() != bytesOf(entry->getResult(result)))
      return fault("a slice of the wrong size");
    if (slice(written).getBuffer() > kArena)
      return fault("an input that is written to");
    if (slice(written).getOffset() + slice(written).getBytes() >
        bufferBytes[slice(written).getBuffer()])
      return fault("a slice beyond the end of its buffer");
    if (isWorkspace(entry->getResult(result)) &&
        slice(written).getOffset() % kWorkspaceAlignment != 0)
      return fault("a workspace where no library takes it");
    std::optional<unsigned> inPlace = operandInPlace(entry, result);
    if (inPlace && slice(*inPlace) != slice(written))
      return fault("a result that is not where its kernel computes it");
    for (unsigned i = 0; i < written; ++i)
      if (i != inPlace && overlap(slice(i), slice(written)))
        return fault("a kernel that overwrites what it reads or writes");
    return success();
  }

  LogicalResult verifyReturn(Operation *terminator) {
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      SliceAttr slice = sliceWithin(held.lookup(viewed(operand.get())).slice, operand.get());
      if (failed(verifyRead(terminator, number, slice)))
        return failure();
      Operation *named = directory.lookup(program.getResultAttrDict(number));
      bool isRead = program.getSymName() == "infer" || program.getSymName() == "evaluate";
      if (named && (isRead || Directory::isUpdate(program, number)) && sliceOf(named) != slice)
        return broken(program.getLoc(), "a result that is not where it belongs",
                      "result " + Twine(number) + " of @" + program.getSymName() + " in " +
                          text(slice) + ", expected in " + text(sliceOf(named)));
    }
    return success();
  }

  func::FuncOp program;
  const Directory &directory;
  uint64_t bufferBytes[2];
  llvm::MapVector<Value, Holding> held;
};

} // namespace

/// Every name has a slice of its size, and no two pieces of state share bytes; tensors in a region
/// are pieces of it.
static LogicalResult verifyDirectory(ModuleOp module, uint64_t stateBytes) {
  Directory directory(module);
  SmallVector<std::pair<SliceAttr, Operation *>> state[2]; // in regions; regions and the rest
  for (Operation &op : module.getOps()) {
    if (!isa<TensorOp, RegionOp>(op))
      continue;
    auto tensor = dyn_cast<TensorOp>(op);
    SliceAttr slice = sliceOf(&op);
    auto fault = [&](const Twine &what) {
      return broken(op.getLoc(), what,
                    (tensor ? tensor.getName() : cast<RegionOp>(op).getName()) + " in " +
                        text(slice));
    };
    if (!slice || slice.getBytes() != storageBytes(typeOf(&op)))
      return fault("a named tensor without its memory");
    if (slice.getBuffer() != kState)
      continue;
    if (slice.getOffset() + slice.getBytes() > stateBytes)
      return fault("state beyond the end of its buffer");
    bool isInRegion = tensor && tensor.getRegion();
    if (isInRegion) {
      RegionOp region = directory.region(*tensor.getRegion());
      if (!region || !region.getSliceAttr() || !overlap(region.getSliceAttr(), slice))
        return fault("a tensor outside of its region");
    }
    auto &others = state[!isInRegion];
    for (auto &[other, otherOp] : others)
      if (overlap(other, slice))
        return fault("state that shares its memory");
    others.push_back({slice, &op});
  }
  return success();
}

/// The CPU's threads have what the most demanding entry needs, no byte more; those of a step that a
/// device runs have none.
static LogicalResult verifyScratch(ModuleOp module, int64_t planned) {
  if (planned == 0)
    return success();
  uint64_t needed = 0;
  WalkResult walk = module.walk([&](Operation *op) {
    FailureOr<uint64_t> bytes = scratchBytesOf(op);
    if (succeeded(bytes))
      needed = std::max(needed, *bytes);
    return failed(bytes) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (planned < 0 || uint64_t(planned) != needed)
    return broken(module.getLoc(), "other scratch memory than its entries need",
                  "they need " + Twine(needed) + " bytes of a thread, it has " + Twine(planned));
  return success();
}

LogicalResult halfstep::verifyMemory(ModuleOp module) {
  auto stateBytes = module->getAttrOfType<IntegerAttr>(attr::kStateBytes),
       arenaBytes = module->getAttrOfType<IntegerAttr>(attr::kArenaBytes),
       scratchBytes = module->getAttrOfType<IntegerAttr>(attr::kScratchBytes),
       inputSlots = module->getAttrOfType<IntegerAttr>(attr::kInputSlots);
  if (!stateBytes || !arenaBytes || !scratchBytes || !inputSlots)
    return broken(module.getLoc(), "no sizes of its buffers", "module attributes are missing");
  if (stateBytes.getInt() < 0 || arenaBytes.getInt() < 0 || inputSlots.getInt() < 1 ||
      inputSlots.getInt() > kMostInputSlots)
    return broken(module.getLoc(), "sizes of buffers that none can have",
                  "there are 1 to " + Twine(kMostInputSlots) +
                      " input slots, and no negative numbers of bytes");
  if (failed(verifyScratch(module, scratchBytes.getInt())) ||
      failed(verifyDirectory(module, stateBytes.getInt())))
    return failure();
  Directory directory(module);
  for (auto program : module.getOps<func::FuncOp>())
    if (failed(ProgramVerifier(program, directory, stateBytes.getInt(), arenaBytes.getInt()).run()))
      return failure();
  return success();
}

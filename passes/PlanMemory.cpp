//===- PlanMemory.cpp - Give every value its bytes ------------------------===//
//
// State first: the flat regions, then every other tensor of the directory; inputs are buffers of
// their own. Then the programs, one by one (ProgramPlanner.h); they share one arena, whose contents
// mean nothing from program to program.
// Scratch memory is beside the arena, a piece for each thread that runs the step, as large as the
// most demanding entry needs: how many threads there will be is known only then.
// The host fills each input in one of `input-slots` places of its own, so that it can fill the next
// while the step reads another.
//
//===----------------------------------------------------------------------===//

#include "passes/CallDetails.h"
#include "passes/JoinCopies.h"
#include "passes/Passes.h"
#include "passes/ProgramPlanner.h"

namespace halfstep {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::table;

namespace {

struct PlanMemory : halfstep::impl::PlanMemoryPassBase<PlanMemory> {
  using Base::Base;

  SliceAttr slice(uint64_t buffer, uint64_t offset, Type type) {
    return SliceAttr::get(&getContext(), buffer, offset,
                          storageBytes(cast<RankedTensorType>(type)));
  }

  /// Gives the directory its slices, but for outputs and metrics; returns the bytes of the state.
  FailureOr<uint64_t> layOutState(const Directory &directory) {
    // A region is walked as one tensor, by whole vectors from its beginning.
    constexpr uint64_t regionAlignment = 256, tensorAlignment = 64;
    uint64_t end = 0;
    auto append = [&](uint64_t alignment, Type type) {
      SliceAttr result = slice(kState, llvm::alignTo(end, alignment), type);
      end = result.getOffset() + result.getBytes();
      return result;
    };
    for (auto region : getOperation().getOps<RegionOp>())
      region.setSliceAttr(append(regionAlignment, region.getType()));

    uint64_t inputs = 0;
    for (auto tensor : getOperation().getOps<TensorOp>()) {
      Role role = tensor.getRole();
      if (role == Role::Output || role == Role::Metric)
        continue;
      if (role == Role::Input || role == Role::Label) {
        tensor.setSliceAttr(slice(kInputs + inputs++, 0, tensor.getType()));
      } else if (!tensor.getRegion()) {
        tensor.setSliceAttr(append(tensorAlignment, tensor.getType()));
      } else {
        RegionOp region = directory.region(*tensor.getRegion());
        SliceAttr whole = region ? region.getSliceAttr() : slice(kState, 0, tensor.getType());
        SliceAttr part = slice(kState, whole.getOffset() + tensor.getRegionOffset().value_or(0),
                               tensor.getType());
        if (!region || part.getOffset() + part.getBytes() > whole.getOffset() + whole.getBytes())
          return tensor.emitOpError("does not lie in a region of the directory");
        tensor.setSliceAttr(part);
      }
    }
    return llvm::alignTo(end, tensorAlignment);
  }

  /// The scratch memory of a thread for a program: its most demanding entry's. A device has none.
  FailureOr<uint64_t> planScratch(func::FuncOp program) {
    uint64_t most = 0;
    if (target == "cpu")
      for (Operation &entry : program.front()) {
        FailureOr<uint64_t> bytes = scratchBytesOf(&entry);
        if (failed(bytes))
          return failure();
        most = std::max(most, *bytes);
      }
    return most;
  }

  /// What kernels compute in place is only what has to be: nothing that was planned before.
  static LogicalResult verifyUnplanned(ModuleOp module) {
    SymbolTable kernels(module);
    WalkResult walk = module.walk([&](LaunchOp launch) {
      auto group = kernels.lookup<kernel::GroupOp>(launch.getKernel());
      for (auto [i, out] : llvm::enumerate(group ? group.getOuts() : ArrayRef<int64_t>()))
        if (out < int64_t(group.getBlock().getNumArguments()) && !launch.getUpdated(i)) {
          group.emitOpError("works in place already: its memory is planned");
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (inputSlots < 1 || inputSlots > kMostInputSlots) {
      emitError(module.getLoc()) << "--input-slots: " << inputSlots.getValue()
                                 << " is not a whole number from 1 to " << kMostInputSlots;
      return signalPassFailure();
    }
    if (failed(verifyUnplanned(module)))
      return signalPassFailure();

    Directory directory(module);
    FailureOr<uint64_t> stateBytes = layOutState(directory);
    if (failed(stateBytes))
      return signalPassFailure();

    uint64_t arenaBytes = 0, scratchBytes = 0;
    Sharings sharings;
    for (auto program : module.getOps<func::FuncOp>()) {
      FailureOr<uint64_t> bytes = planScratch(program);
      if (failed(bytes))
        return signalPassFailure();
      scratchBytes = std::max(scratchBytes, *bytes);
      ProgramPlanner planner(program, directory, reuse, sharings);
      if (failed(planner.run()))
        return signalPassFailure();
      arenaBytes = std::max(arenaBytes, planner.arenaBytes());
      // The host reads outputs behind @infer and metrics behind @evaluate.
      Role read = program.getSymName() == "infer" ? Role::Output : Role::Metric;
      if (program.getSymName() != "infer" && program.getSymName() != "evaluate")
        continue;
      for (OpOperand &operand : program.front().getTerminator()->getOpOperands())
        if (auto tensor = dyn_cast_or_null<TensorOp>(
                directory.lookup(program.getResultAttrDict(operand.getOperandNumber())));
            tensor && tensor.getRole() == read)
          tensor.setSliceAttr(planner.sliceOf(operand.get()));
    }
    makeKernelsInPlace(module, sharings);
    for (auto program : module.getOps<func::FuncOp>())
      joinCopies(program);

    Builder builder(&getContext());
    module->setAttr(attr::kStateBytes, builder.getI64IntegerAttr(*stateBytes));
    module->setAttr(attr::kInputSlots, builder.getI64IntegerAttr(inputSlots));
    module->setAttr(attr::kArenaBytes, builder.getI64IntegerAttr(arenaBytes));
    module->setAttr(attr::kScratchBytes, builder.getI64IntegerAttr(scratchBytes));
  }
};

} // namespace

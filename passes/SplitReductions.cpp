//===- SplitReductions.cpp - Long reductions in two launches --------------===//
//
// A kernel has to end before its sums over many chunks can be added up. What is cut, and where, is
// kernel::splitReduction's business; the bits stay the same.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/GroupWriter.h"
#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;

/// Partial values are packed over the dimensions that they vary along.
static Type typeOfPartial(kernel::GroupOp final, unsigned argument) {
  int64_t elements = 1;
  for (auto [size, stride] : llvm::zip(final.getSpace(), final.getBufferStrides(argument)))
    elements *= stride ? size : 1;
  return RankedTensorType::get(elements, final.getStorageType(argument));
}

static void replace(table::LaunchOp launch, const kernel::SplitReduction &split) {
  OpBuilder b(launch);
  Location location = launch.getLoc();
  auto typeOf = [&](unsigned result) { return launch.getResultTypes()[result]; };
  auto pick = [&](ArrayRef<unsigned> indices) {
    return llvm::map_to_vector(indices, [&](unsigned i) { return Value(launch.getInputs()[i]); });
  };
  SmallVector<Type> types;
  for (unsigned i = 0; i < split.partialValues; ++i)
    types.push_back(typeOfPartial(split.final, i));
  llvm::append_range(types, llvm::map_range(split.partialResults, typeOf));
  auto partial = createLaunch(b, location, types, split.partial, pick(split.partialArguments));
  ValueRange partialOutputs = partial.getOutputs();
  SmallVector<Value> operands(partialOutputs.take_front(split.partialValues));
  operands.append(pick(split.finalArguments));
  auto last = createLaunch(b, location, llvm::map_to_vector(split.finalResults, typeOf),
                           split.final, operands);
  for (auto [i, value] :
       llvm::zip(split.partialResults, partialOutputs.drop_front(split.partialValues)))
    launch.getOutputs()[i].replaceAllUsesWith(value);
  for (auto [i, value] : llvm::zip(split.finalResults, last.getOutputs()))
    launch.getOutputs()[i].replaceAllUsesWith(value);
  launch.erase();
}

namespace {
struct SplitReductions : halfstep::impl::SplitReductionsPassBase<SplitReductions> {
  void runOnOperation() override {
    llvm::DenseMap<StringAttr, table::LaunchOp> launches; // of a kernel: form-kernels makes one
    getOperation().walk(
        [&](table::LaunchOp launch) { launches[launch.getKernelAttr().getAttr()] = launch; });
    for (auto group : llvm::make_early_inc_range(getOperation().getOps<kernel::GroupOp>())) {
      table::LaunchOp launch = launches.lookup(group.getSymNameAttr());
      auto split = kernel::splitReduction(group);
      if (split && launch)
        replace(launch, *split);
    }
  }
};
} // namespace

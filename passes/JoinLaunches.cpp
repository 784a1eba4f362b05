//===- JoinLaunches.cpp - One launch for several small kernels ------------===//
//
// A device takes some 2 us to begin a launch, in which it could have moved megabytes. So kernels
// that follow each other, move little and do not wait for each other are launched as one, each with
// blocks of threads of its own: horizontal fusion, as XLA and Rammer (Ma et al., OSDI 2020) do it.
//
// Memory is planned already, and stays as it is: kernels are independent if none writes bytes that
// another one reads or writes.
//
//===----------------------------------------------------------------------===//

#include "ir/KernelDialect.h"
#include "ir/ReductionTree.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Directory.h"
#include "passes/Passes.h"

namespace halfstep {
#define GEN_PASS_DEF_JOINLAUNCHESPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::table;

/// What a joined launch moves at most: 0.5 us at the 2 TB/s of an A100.
static constexpr uint64_t kMostBytes = 1 << 20;
/// Buffers of a joined launch. A kernel has at most 4 KiB of parameters, 8 bytes a buffer.
static constexpr unsigned kMostBuffers = 64;

static SliceAttr sliceAt(LaunchOp launch, unsigned number) {
  return cast<SliceAttr>((*launch.getSlices())[number]);
}

static uint64_t bytesOf(LaunchOp launch) {
  uint64_t bytes = 0;
  for (auto slice : launch.getSlicesAttr().getAsRange<SliceAttr>())
    bytes += slice.getBytes();
  return bytes;
}

/// Whether the kernel's blocks have as many threads as those of others: all but those with long
/// rows, which get a block each.
static bool hasUsualBlocks(Operation *kernel) {
  auto group = dyn_cast_or_null<kernel::GroupOp>(kernel);
  if (!group)
    return isa_and_nonnull<kernel::ContractOp>(kernel);
  int64_t reduced = group.getReducedDimension();
  bool reducesRows = reduced + 1 == int64_t(group.getSpace().size());
  constexpr int64_t mostAccumulators = 256; // eight a thread: a row of more has several warps
  return !reducesRows ||
         kernel::RowTree(group.getSpace()[reduced]).accumulators <= mostAccumulators;
}

/// Whether `one` writes bytes that the other reads or writes.
static bool disturbs(LaunchOp one, LaunchOp other) {
  for (unsigned result = 0; result < one.getNumResults(); ++result)
    for (auto slice : other.getSlicesAttr().getAsRange<SliceAttr>())
      if (overlap(sliceAt(one, one.getNumOperands() + result), slice))
        return true;
  return false;
}

/// Whether the launch can be one with those before it.
static bool joins(LaunchOp launch, ArrayRef<LaunchOp> before) {
  uint64_t bytes = bytesOf(launch);
  unsigned buffers = launch.getSlices()->size();
  for (LaunchOp other : before) {
    bytes += bytesOf(other);
    buffers += other.getSlices()->size();
    if (disturbs(launch, other) || disturbs(other, launch))
      return false;
  }
  return bytes <= kMostBytes && buffers <= kMostBuffers;
}

static void join(ArrayRef<LaunchOp> launches, SymbolTable &symbols) {
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<Attribute> kernels, slices, resultSlices;
  SmallVector<Location> locations;
  for (LaunchOp launch : launches) {
    llvm::append_range(operands, launch.getInputs());
    llvm::append_range(types, launch.getResultTypes());
    ArrayRef<Attribute> all = launch.getSlicesAttr().getValue();
    llvm::append_range(slices, all.take_front(launch.getNumOperands()));
    llvm::append_range(resultSlices, all.drop_front(launch.getNumOperands()));
    kernels.push_back(launch.getKernelAttr());
    locations.push_back(launch.getLoc());
  }
  llvm::append_range(slices, resultSlices);
  LaunchOp first = launches.front(), last = launches.back();
  auto function = last->getParentOfType<func::FuncOp>();
  OpBuilder builder(last);
  Location location = builder.getFusedLoc(locations);
  OpBuilder outside(function);
  auto kernel = outside.create<kernel::JoinOp>(location, (first.getKernel() + "_joined").str(),
                                               outside.getArrayAttr(kernels));
  symbols.insert(kernel);
  auto joined = builder.create<LaunchOp>(location, types, FlatSymbolRefAttr::get(kernel), operands,
                                         builder.getArrayAttr(slices));
  ValueRange results = joined.getResults();
  for (LaunchOp launch : launches) {
    launch.replaceAllUsesWith(results.take_front(launch.getNumResults()));
    results = results.drop_front(launch.getNumResults());
    launch.erase();
  }
}

namespace {
struct JoinLaunches : halfstep::impl::JoinLaunchesPassBase<JoinLaunches> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      SmallVector<SmallVector<LaunchOp>> runs(1);
      for (Operation &op : program.front()) {
        auto launch = dyn_cast<LaunchOp>(op);
        // One that writes a part of a whole is left alone: `updates` names its operands.
        bool isMember = launch && launch.getSlices() && !launch.getUpdates() &&
                        hasUsualBlocks(symbols.lookup(launch.getKernel()));
        if (!isMember || !joins(launch, runs.back()))
          runs.emplace_back();
        if (isMember)
          runs.back().push_back(launch);
      }
      for (ArrayRef<LaunchOp> run : runs)
        if (run.size() > 1)
          join(run, symbols);
    }
  }
};
} // namespace

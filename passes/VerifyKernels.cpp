//===- VerifyKernels.cpp - What the kernels phase promises ----------------===//
//
// A kernel addresses its buffers by strides that fusion computed. Here every buffer's furthest
// element is checked against the tensor that a launch passes, so that a wrong stride is an error
// message and not a read from a stranger's memory.
//
//===----------------------------------------------------------------------===//

#include "ir/KernelDialect.h"
#include "ir/ReductionTree.h"
#include "passes/Directory.h"
#include "passes/PhaseVerifier.h"

using namespace mlir;
using namespace halfstep;
using kernel::ContractOp;
using kernel::GroupOp;
using table::LaunchOp;

namespace {
/// A buffer as a kernel uses it.
struct BufferUse {
  Type storage;
  int64_t elements; // from the first to behind the furthest one
};
} // namespace

static int64_t extent(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip(sizes, strides))
    last += (size - 1) * stride;
  return last + 1;
}

/// The buffers of a launch's operands, then of its results.
static SmallVector<BufferUse> buffersOf(GroupOp group) {
  SmallVector<BufferUse> uses;
  SmallVector<int64_t> space(group.getSpace());
  auto use = [&](unsigned buffer) {
    uses.push_back({group.getStorageType(buffer), extent(space, group.getBufferStrides(buffer))});
  };
  for (unsigned i = 0; i < group.getBlock().getNumArguments(); ++i)
    use(i);
  kernel::ValueAnalysis analysis(group);
  int64_t reduced = group.getReducedDimension(), rank = space.size();
  for (auto [out, value] : llvm::zip(group.getOuts(), group.getYield().getValues())) {
    space = llvm::to_vector(group.getSpace());
    // What a partial group reduces has one element a chunk.
    if (group.getPartial() && analysis.phase(value) > 0)
      space[reduced] = reduced + 1 == rank ? kernel::RowTree(space[reduced]).chunks
                                           : kernel::ColumnTree(space[reduced]).chunks;
    use(out);
  }
  return uses;
}

static SmallVector<BufferUse> buffersOf(ContractOp op) {
  int64_t batch = op.getBatch(), m = op.getM(), n = op.getN(), k = op.getK();
  SmallVector<BufferUse> uses{{op.getType(), extent({batch, m, k}, op.getAStrides())},
                              {op.getType(), extent({batch, k, n}, op.getBStrides())}};
  if (op.getBias())
    uses.push_back({op.getType(), n});
  uses.push_back({op.getType(), extent({batch, m, n}, op.getCStrides())});
  return uses;
}

static LogicalResult verifyLaunch(LaunchOp launch) {
  Operation *kernel = SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr());
  auto broken = [&](const Twine &detail) {
    return brokenPromise(launch.getLoc(), "kernels", "a kernel that does not fit its tensors",
                         "@" + launch.getKernel() + ": " + detail);
  };
  SmallVector<BufferUse> uses;
  if (auto group = dyn_cast_or_null<GroupOp>(kernel))
    uses = buffersOf(group);
  else if (auto contract = dyn_cast_or_null<ContractOp>(kernel))
    uses = buffersOf(contract);
  else
    return broken("is no kernel");
  SmallVector<Value> values(launch->getOperands());
  llvm::append_range(values, launch->getResults());
  if (values.size() != uses.size())
    return broken("has " + Twine(uses.size()) + " buffers, the launch has " + Twine(values.size()));
  for (auto [i, value, use] : llvm::enumerate(values, uses)) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType() != use.storage || type.getNumElements() < use.elements) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "buffer " << i << " spans " << use.elements << " elements of " << use.storage
          << ", the tensor is " << type;
      return broken(text);
    }
  }
  return success();
}

LogicalResult halfstep::verifyKernels(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.front().without_terminator()) {
      if (!isa<table::TableDialect>(op.getDialect()))
        return brokenPromise(op.getLoc(), "kernels", "an op that no kernel computes",
                             "'" + op.getName().getStringRef() + "' in @" + function.getSymName());
      if (auto launch = dyn_cast<LaunchOp>(op))
        if (failed(verifyLaunch(launch)))
          return failure();
    }
  return success();
}

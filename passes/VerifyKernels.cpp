//===- VerifyKernels.cpp - What the kernels phase promises ----------------===//
//
// A kernel addresses its buffers by strides that fusion computed. Here every buffer's furthest
// element is checked against the tensor that a launch passes, so that a wrong stride is an error
// message and not a read from a stranger's memory. And where kernels write a value part by part,
// the parts must be all of it before it is read.
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
using table::FusedConvOp;
using table::LaunchOp;

namespace {
/// A buffer as a kernel uses it.
struct BufferUse {
  Type storage;
  int64_t elements; // from the first to behind the furthest one
};
} // namespace

static int64_t extent(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, int64_t offset = 0) {
  return kernel::boundsOf(sizes, strides, offset).second + 1;
}

/// The space that a result of the group is stored over: what a partial group reduces has one
/// element a chunk.
static SmallVector<int64_t> storedSpace(GroupOp group, const kernel::ValueAnalysis &analysis,
                                        unsigned result) {
  SmallVector<int64_t> space(group.getSpace());
  int64_t reduced = group.getReducedDimension(), rank = space.size();
  if (group.getPartial() && analysis.phase(group.getYield().getOperand(result)) > 0)
    space[reduced] = reduced + 1 == rank ? kernel::RowTree(space[reduced]).chunks
                                         : kernel::ColumnTree(space[reduced]).chunks;
  return space;
}

/// The buffers of a launch's operands, then of its results.
static SmallVector<BufferUse> buffersOf(GroupOp group) {
  SmallVector<BufferUse> uses;
  auto use = [&](unsigned buffer, ArrayRef<int64_t> space) {
    uses.push_back({group.getStorageType(buffer),
                    extent(space, group.getBufferStrides(buffer), group.getBufferOffset(buffer))});
  };
  for (unsigned i = 0; i < group.getBlock().getNumArguments(); ++i)
    use(i, group.getSpace());
  kernel::ValueAnalysis analysis(group);
  for (auto [i, out] : llvm::enumerate(group.getOuts()))
    use(out, storedSpace(group, analysis, i));
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

/// `launch` is a launch of `name`, or a convolution that computes with it.
template <typename Op> static LogicalResult verifyLaunch(Op launch, FlatSymbolRefAttr name) {
  Operation *kernel = SymbolTable::lookupNearestSymbolFrom(launch, name);
  auto broken = [&](const Twine &detail) {
    return brokenPromise(launch.getLoc(), "kernels", "a kernel that does not fit its tensors",
                         "@" + name.getValue() + ": " + detail);
  };
  SmallVector<BufferUse> uses;
  if (auto group = dyn_cast_or_null<GroupOp>(kernel))
    uses = buffersOf(group);
  else if (auto contract = dyn_cast_or_null<ContractOp>(kernel))
    uses = buffersOf(contract);
  else
    return broken("is no kernel");
  SmallVector<Value> values(launch.getInputs());
  llvm::append_range(values, launch.getOutputs());
  if (auto conv = dyn_cast<FusedConvOp>(launch.getOperation())) { // y and dy are not in memory
    uses.erase(uses.begin());
    if (conv.getDw())
      uses.pop_back();
  }
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

namespace {
/// What a kernel writes of a result: `count` runs of elements, the first from `begin` to `end`,
/// each `period` behind the one before.
struct Part {
  int64_t begin, end, period, count;

  bool isWhole(int64_t elements) const { return end - begin == elements; }
};
} // namespace

/// The part of a tensor of `elements` that the launch of a group writes; nullopt if it is none.
static std::optional<Part> writtenPart(GroupOp group, unsigned result, int64_t elements) {
  unsigned out = group.getOuts()[result];
  SmallVector<int64_t> space = storedSpace(group, kernel::ValueAnalysis(group), result);
  ArrayRef<int64_t> strides = group.getBufferStrides(out);
  SmallVector<std::pair<int64_t, int64_t>> steps; // stride and size
  for (auto [size, stride] : llvm::zip(space, strides))
    if (size != 1 && stride != 0)
      steps.push_back({std::abs(stride), size});
  llvm::sort(steps);
  Part part{kernel::boundsOf(space, strides, group.getBufferOffset(out)).first, 0, elements, 1};
  int64_t run = 1;
  auto *step = steps.begin();
  for (; step != steps.end() && step->first == run; ++step)
    run *= step->second;
  part.end = part.begin + run;
  if (step != steps.end())
    part.period = step->first;
  for (; step != steps.end() && step->first == part.period * part.count; ++step)
    part.count *= step->second;
  return step == steps.end() ? std::optional(part) : std::nullopt;
}

namespace {
/// Follows what is written part by part.
class PartsVerifier {
public:
  explicit PartsVerifier(ModuleOp module) : kernels(module) {}

  /// What the entry reads is complete; what it updates has no other reader, and its kernel says so
  /// too.
  LogicalResult verify(Operation *entry) {
    auto launch = dyn_cast<LaunchOp>(entry);
    auto broken = [&](const Twine &what, const Twine &detail) {
      return brokenPromise(entry->getLoc(), "kernels", what, detail);
    };
    SmallVector<Value> updated;
    GroupOp group = groupOf(launch);
    for (auto [i, out] : llvm::enumerate(group ? group.getOuts() : ArrayRef<int64_t>())) {
      bool isInPlace = out < int64_t(group.getBlock().getNumArguments());
      Value operand = launch.getUpdated(i);
      if (operand != (isInPlace ? launch.getInputs()[out] : Value()))
        return broken("a result that its kernel computes in another place",
                      "result " + Twine(i) + " of @" + launch.getKernel());
      if (!operand)
        continue;
      updated.push_back(operand);
      if (readersOf(operand).size() != 1)
        return broken("a value that is updated and read elsewhere",
                      "operand " + Twine(out) + " of @" + launch.getKernel());
    }
    for (auto [i, operand] : llvm::enumerate(entry->getOperands()))
      if (!llvm::is_contained(updated, operand) && !isComplete(viewed(operand)))
        return broken("a value that is read before all of it is written",
                      "operand " + Twine(i) + " of '" + entry->getName().getStringRef() + "'");
    return success();
  }

private:
  GroupOp groupOf(LaunchOp launch) {
    return launch ? kernels.lookup<GroupOp>(launch.getKernel()) : GroupOp();
  }

  /// Whether `value` has all its elements: its kernel writes them all, or updates what has them
  /// all, or is the last of several that write parts which tile it.
  bool isComplete(Value value) {
    int64_t elements = cast<RankedTensorType>(value.getType()).getNumElements();
    SmallVector<Part> parts;
    while (value) {
      auto launch = value.getDefiningOp<LaunchOp>();
      GroupOp group = groupOf(launch);
      if (!group)
        return true;
      unsigned result = cast<OpResult>(value).getResultNumber();
      std::optional<Part> part = writtenPart(group, result, elements);
      if (part && part->isWhole(elements))
        return true;
      value = launch.getUpdated(result);
      if (part)
        parts.push_back(*part);
    }
    llvm::sort(parts, [](const Part &a, const Part &b) { return a.begin < b.begin; });
    int64_t end = 0;
    for (const Part &part : parts) {
      if (part.begin != end || part.period != parts[0].period || part.count != parts[0].count)
        return false;
      end = part.end;
    }
    return !parts.empty() && end == parts[0].period && end * parts[0].count == elements;
  }

  SymbolTable kernels;
};
} // namespace

LogicalResult halfstep::verifyKernels(ModuleOp module) {
  PartsVerifier parts(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    for (Operation &op : function.front().without_terminator()) {
      if (!isa<table::TableDialect>(op.getDialect()))
        return brokenPromise(op.getLoc(), "kernels", "an op that no kernel computes",
                             "'" + op.getName().getStringRef() + "' in @" + function.getSymName());
      auto launch = dyn_cast<LaunchOp>(op);
      if (launch && failed(verifyLaunch(launch, launch.getKernelAttr())))
        return failure();
      auto conv = dyn_cast<FusedConvOp>(op);
      if (conv && failed(verifyLaunch(conv, conv.getKernelAttr())))
        return failure();
      if (!isa<table::AliasOp>(op) && failed(parts.verify(&op)))
        return failure();
    }
    if (failed(parts.verify(function.front().getTerminator())))
      return failure();
  }
  return success();
}

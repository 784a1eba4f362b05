//===- EntryCost.cpp - what an entry of a program has to do --------------------------------===//

#include "codegen/EntryCost.h"
#include "codegen/KernelBuilder.h"
#include "ir/KernelDialect.h"
#include "ir/ReductionTree.h"
#include "passes/CallDetails.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

/// The number of different elements that a walk comes to.
static uint64_t elementsOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  SmallVector<std::pair<uint64_t, uint64_t>> steps; // stride, size
  for (auto [size, stride] : llvm::zip(sizes, strides))
    if (stride && size > 1)
      steps.push_back({std::abs(stride), size});
  llvm::sort(steps);
  uint64_t elements = 1, extent = 1;
  for (auto [stride, size] : steps) {
    bool overlaps = stride < extent;
    extent += stride * (size - 1);
    elements = overlaps ? std::min(elements * size, extent) : elements * size;
  }
  return elements;
}

namespace {
/// Adds up what an entry does with its slices. Walks over the same slice may meet: together they
/// count no more than all of it.
class Counter {
public:
  explicit Counter(Operation &entry) : entry(entry) {}

  /// `number` counts the entry's operands, then its results.
  void read(unsigned number, uint64_t bytes) { note(reads, number, bytes); }
  void write(unsigned number, uint64_t bytes) { note(writes, number, bytes); }
  /// All of an operand or result.
  void readAll(unsigned number) { read(number, sliceAt(number).getBytes()); }
  void writeAll(unsigned number) { write(number, sliceAt(number).getBytes()); }

  void compute(Type type, uint64_t flops) {
    cost.flops += flops;
    if (getElementTypeOrSelf(type).isF64())
      cost.flopsInDouble += flops;
  }

  EntryCost total() {
    for (auto &[slice, bytes] : reads)
      cost.bytesRead += bytes;
    for (auto &[slice, bytes] : writes)
      cost.bytesWritten += bytes;
    return cost;
  }

private:
  using BySlice = llvm::MapVector<table::SliceAttr, uint64_t>;

  table::SliceAttr sliceAt(unsigned number) {
    return cast<table::SliceAttr>(entry.getAttrOfType<ArrayAttr>("slices")[number]);
  }
  void note(BySlice &slices, unsigned number, uint64_t bytes) {
    table::SliceAttr slice = sliceAt(number);
    uint64_t &sum = slices[slice];
    sum = std::min(sum + bytes, slice.getBytes());
  }

  Operation &entry;
  EntryCost cost;
  BySlice reads, writes;
};
} // namespace

//===---------------------------------------------------------------------------------------===//
// Groups
//===---------------------------------------------------------------------------------------===//

/// The number of points with values of their own.
static uint64_t pointsOf(kernel::GroupOp group, const kernel::ValueAnalysis &values, Value value) {
  uint64_t points = 1;
  for (auto [dimension, size] : llvm::enumerate(group.getSpace()))
    if (values.varies(value, dimension))
      points *= size;
  return points;
}

/// The operations that the result of an op in a group's body takes.
static unsigned flopsOf(Operation &op) {
  if (op.getNumResults() != 1 || !isa<FloatType>(op.getResult(0).getType()) ||
      op.hasTrait<OpTrait::ConstantLike>() || isa<CastOpInterface, arith::SelectOp>(op))
    return 0;
  return isa<math::FmaOp>(op) ? 2 : 1;
}

/// The chunks of a partial group's reductions.
static int64_t chunksOf(kernel::GroupOp group, int64_t reduced) {
  int64_t length = group.getSpace()[reduced];
  bool isRow = reduced + 1 == int64_t(group.getSpace().size());
  return isRow ? kernel::RowTree(length).chunks : kernel::ColumnTree(length).chunks;
}

/// `numberOf` says which of the entry's operands and results a buffer is; nullopt: none.
static void count(kernel::GroupOp group, Counter &counter,
                  llvm::function_ref<std::optional<unsigned>(unsigned)> numberOf) {
  kernel::ValueAnalysis values(group);
  int64_t reduced = group.getReducedDimension();
  auto bytes = [&](unsigned buffer, ArrayRef<int64_t> space) {
    return elementsOf(space, group.getBufferStrides(buffer)) *
           bytesOf(group.getStorageType(buffer));
  };
  unsigned arguments = group.getBlock().getNumArguments();
  for (BlockArgument argument : group.getBlock().getArguments())
    if (auto number = numberOf(argument.getArgNumber()); number && !argument.use_empty())
      counter.read(*number, bytes(argument.getArgNumber(), group.getSpace()));
  for (auto [i, out] : llvm::enumerate(group.getOuts())) {
    SmallVector<int64_t> space(group.getSpace());
    if (group.getPartial() && values.phase(group.getYield().getValues()[i]) > 0)
      space[reduced] = chunksOf(group, reduced);
    if (auto number = numberOf(arguments + i))
      counter.write(*number, bytes(out, space));
  }
  for (Operation &op : group.getBlock().without_terminator()) {
    if (auto reduce = dyn_cast<kernel::ReduceOp>(op)) {
      uint64_t points = pointsOf(group, values, reduce.getInput());
      if (!values.varies(reduce.getInput(), reduced))
        points *= group.getSpace()[reduced];
      if (isa<FloatType>(reduce.getType()))
        counter.compute(reduce.getType(), points);
    } else if (unsigned flops = flopsOf(op)) {
      counter.compute(op.getResult(0).getType(), flops * pointsOf(group, values, op.getResult(0)));
    }
  }
}

//===---------------------------------------------------------------------------------------===//
// Products
//===---------------------------------------------------------------------------------------===//

static void count(kernel::ContractOp contract, Counter &counter) {
  int64_t batch = contract.getBatch(), m = contract.getM(), n = contract.getN(),
          k = contract.getK();
  uint64_t element = bytesOf(contract.getType());
  unsigned number = 0;
  counter.read(number++, element * elementsOf({batch, m, k}, contract.getAStrides()));
  counter.read(number++, element * elementsOf({batch, k, n}, contract.getBStrides()));
  if (contract.getBias())
    counter.read(number++, element * n);
  counter.write(number, element * elementsOf({batch, m, n}, contract.getCStrides()));
  counter.compute(contract.getType(), uint64_t(batch) * m * n * (2 * k + contract.getBias()));
}

static void count(table::GemmOp gemm, Counter &counter) {
  auto a = cast<RankedTensorType>(gemm.getA().getType()),
       c = cast<RankedTensorType>(gemm.getC().getType());
  for (unsigned i = 0; i < gemm->getNumOperands(); ++i)
    counter.readAll(i);
  counter.writeAll(gemm->getNumOperands());
  uint64_t k = a.getShape().take_back(2)[gemm.getTransA() ? 0 : 1];
  counter.compute(c, c.getNumElements() * (2 * k + bool(gemm.getBias())));
}

//===---------------------------------------------------------------------------------------===//
// Windows
//===---------------------------------------------------------------------------------------===//

namespace {
/// The places of windows that are not in the padding, and what takes part in them.
struct Meeting {
  uint64_t places = 1, inputs = 1, outputs = 1, taps = 1;
};
} // namespace

static Meeting meetingOf(const hs_window &window) {
  Meeting all;
  for (int d = 0; d < 3; ++d) {
    uint64_t places = 0;
    llvm::BitVector inputs(window.input[d]), outputs(window.output[d]), taps(window.kernel[d]);
    for (int64_t output = 0; output < window.output[d]; ++output)
      for (int64_t tap = 0; tap < window.kernel[d]; ++tap) {
        int64_t input = output * window.stride[d] + tap * window.dilation[d] - window.pad[d];
        if (input < 0 || input >= window.input[d])
          continue;
        ++places;
        inputs.set(input);
        outputs.set(output);
        taps.set(tap);
      }
    all.places *= places;
    all.inputs *= inputs.count();
    all.outputs *= outputs.count();
    all.taps *= taps.count();
  }
  return all;
}

static LogicalResult count(table::ConvOp op, Counter &counter) {
  FailureOr<hs_conv> conv = describe(op);
  if (failed(conv))
    return failure();
  Meeting meeting = meetingOf(conv->window);
  uint64_t channels = conv->groups * conv->input_channels,
           results = conv->groups * conv->output_channels;
  uint64_t x = conv->batch * channels * meeting.inputs, y = conv->batch * results * meeting.outputs,
           w = results * conv->input_channels * meeting.taps;
  bool isForward = op.getKind() == table::ConvKind::Forward,
       isOfWeight = op.getKind() == table::ConvKind::WeightGradient;
  counter.read(0, (isForward ? x : y) * bytesOf(getElementTypeOrSelf(op.getA())));
  counter.read(1, (isOfWeight ? x : w) * bytesOf(getElementTypeOrSelf(op.getB())));
  counter.writeAll(2);
  counter.compute(op.getC().getType(),
                  2 * conv->batch * results * conv->input_channels * meeting.places);
  return success();
}

static LogicalResult count(table::FusedConvOp op, Counter &counter) {
  FailureOr<hs_conv> conv = describe(op);
  if (failed(conv))
    return failure();
  auto group = SymbolTable::lookupNearestSymbolFrom<kernel::GroupOp>(op, op.getKernelAttr());
  auto isInMemory = [&](unsigned buffer) { // neither y nor dy
    return buffer != 0 && !(op.getDw() && buffer == group.getNumBuffers() - 1);
  };
  count(group, counter, [&](unsigned buffer) {
    return isInMemory(buffer) ? std::optional(op.numberOf(buffer)) : std::nullopt;
  });
  Meeting meeting = meetingOf(conv->window);
  counter.read(0, conv->batch * conv->input_channels * meeting.inputs *
                      bytesOf(getElementTypeOrSelf(op.getX())));
  counter.read(1, conv->output_channels * conv->input_channels * meeting.taps *
                      bytesOf(getElementTypeOrSelf(op.getW())));
  uint64_t products = conv->batch * conv->output_channels * conv->input_channels * meeting.places;
  counter.compute(op.getW().getType(), 2 * products);
  if (op.getDw()) {
    counter.writeAll(op->getNumOperands() + op.getOutputs().size());
    counter.compute(op.getDw().getType(), 2 * products);
  }
  return success();
}

static LogicalResult count(table::PoolOp op, Counter &counter) {
  FailureOr<hs_pool> pool = describe(op);
  if (failed(pool))
    return failure();
  Meeting meeting = meetingOf(pool->window);
  uint64_t maps = pool->batch * pool->channels;
  uint64_t element = bytesOf(getElementTypeOrSelf(op.getOutput()));
  if (op.getKind() != table::PoolKind::AverageGradient)
    counter.read(0, maps * meeting.inputs * element);
  if (op.getKind() == table::PoolKind::AverageGradient ||
      op.getKind() == table::PoolKind::MaxGradient)
    counter.read(op->getNumOperands() - 1, maps * meeting.outputs * element);
  counter.writeAll(op->getNumOperands());
  counter.compute(op.getOutput().getType(), maps * meeting.places);
  return success();
}

FailureOr<EntryCost> halfstep::codegen::costOf(Operation &entry) {
  auto slices = entry.getAttrOfType<ArrayAttr>("slices");
  if (!slices || slices.size() != entry.getNumOperands() + entry.getNumResults())
    return entry.emitOpError(
        "needs a slice for each operand and result: has the memory phase run?");
  Counter counter(entry);
  if (auto launch = dyn_cast<table::LaunchOp>(entry)) {
    Operation *kernel = SymbolTable::lookupNearestSymbolFrom(&entry, launch.getKernelAttr());
    if (auto group = dyn_cast_or_null<kernel::GroupOp>(kernel))
      count(group, counter, [](unsigned buffer) { return buffer; });
    else if (auto contract = dyn_cast_or_null<kernel::ContractOp>(kernel))
      count(contract, counter);
    else
      return launch.emitOpError("launches ") << launch.getKernelAttr() << ", which is no kernel";
  } else if (auto gemm = dyn_cast<table::GemmOp>(entry)) {
    count(gemm, counter);
  } else if (auto conv = dyn_cast<table::ConvOp>(entry)) {
    if (failed(count(conv, counter)))
      return failure();
  } else if (auto conv = dyn_cast<table::FusedConvOp>(entry)) {
    if (failed(count(conv, counter)))
      return failure();
  } else if (auto pool = dyn_cast<table::PoolOp>(entry)) {
    if (failed(count(pool, counter)))
      return failure();
  } else if (isa<table::CopyOp>(entry)) {
    counter.readAll(0);
    counter.writeAll(1);
  } else if (isa<table::ZeroOp>(entry)) {
    counter.writeAll(0);
  } else {
    return entry.emitOpError("is not an entry of a program");
  }
  return counter.total();
}

//===- JoinCopies.cpp - One entry for several small copies ----------------===//

#include "passes/JoinCopies.h"
#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::table;

static SliceAttr sliceAt(CopyOp copy, unsigned number) {
  return cast<SliceAttr>((*copy.getSlices())[number]);
}

static bool overlap(SliceAttr a, SliceAttr b) {
  return a.getBuffer() == b.getBuffer() && a.getOffset() < b.getOffset() + b.getBytes() &&
         b.getOffset() < a.getOffset() + a.getBytes();
}

/// Whether the copy can be made at once with those before it.
static bool joins(CopyOp copy, ArrayRef<CopyOp> before) {
  return llvm::all_of(before, [&](CopyOp other) {
    return other.getLoc() == copy.getLoc() && !overlap(sliceAt(other, 1), sliceAt(copy, 0)) &&
           !overlap(sliceAt(other, 0), sliceAt(copy, 1)) &&
           !overlap(sliceAt(other, 1), sliceAt(copy, 1));
  });
}

static void join(ArrayRef<CopyOp> copies, StringRef name) {
  CopyOp last = copies.back();
  Location location = last.getLoc();
  OpBuilder builder(last->getParentOfType<func::FuncOp>());
  SmallVector<kernel::Buffer> arguments;
  SmallVector<kernel::GroupOp::Result> results;
  SmallVector<Value> sources;
  SmallVector<Type> types;
  SmallVector<Attribute> slices;
  for (CopyOp copy : copies) {
    kernel::Buffer buffer{getElementTypeOrSelf(copy.getSource()), {1}};
    arguments.push_back(buffer);
    results.push_back(buffer);
    sources.push_back(copy.getSource());
    types.push_back(copy.getTarget().getType());
    slices.push_back(sliceAt(copy, 0));
  }
  for (CopyOp copy : copies)
    slices.push_back(sliceAt(copy, 1));
  auto group = kernel::GroupOp::create(
      builder, location, name, {1}, arguments, results,
      [](OpBuilder &, Location, ValueRange elements) { return llvm::to_vector(elements); });
  builder.setInsertionPoint(last);
  auto launch = builder.create<LaunchOp>(location, types, FlatSymbolRefAttr::get(group), sources,
                                         builder.getArrayAttr(slices));
  for (auto [copy, result] : llvm::zip(copies, launch.getResults())) {
    CopyOp(copy).getTarget().replaceAllUsesWith(result);
    CopyOp(copy).erase();
  }
}

void halfstep::joinCopies(func::FuncOp program) {
  SmallVector<SmallVector<CopyOp>> runs(1);
  for (Operation &op : program.front()) {
    auto copy = dyn_cast<CopyOp>(op);
    bool isSmall = copy && cast<RankedTensorType>(copy.getTarget().getType()).getNumElements() == 1;
    if (!isSmall || !joins(copy, runs.back()))
      runs.emplace_back();
    if (isSmall)
      runs.back().push_back(copy);
  }
  unsigned number = 0;
  for (ArrayRef<CopyOp> run : runs)
    if (run.size() > 1)
      join(run, (program.getSymName() + "_copies" + (number++ ? "_" + Twine(number) : "")).str());
}

//===- EmitCpu.cpp - kernels for the CPU ---------------------------------------------------===//

#include "codegen/EmitCpu.h"
#include "codegen/CpuGroupEmitter.h"
#include "ir/ReductionTree.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

/// Columns in a unit of a map.
static constexpr int64_t mapPart = 1 << 14;

Block *halfstep::codegen::beginKernel(KernelBuilder &b, StringRef name, unsigned count,
                                      SmallVector<Value> &buffers) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto function = b.create<func::FuncOp>(name, b.getFunctionType({pointer, i64, i64}, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  auto end = b.create<func::ReturnOp>();
  b.setInsertionPoint(end);
  for (unsigned i = 0; i < count; ++i) {
    Value address = b.create<LLVM::GEPOp>(pointer, pointer, entry->getArgument(0),
                                          ArrayRef<LLVM::GEPArg>{int32_t(i)});
    buffers.push_back(b.create<LLVM::LoadOp>(pointer, address));
  }
  return entry;
}

Work halfstep::codegen::divideWork(int64_t units, int64_t operations) {
  constexpr int64_t task = 1 << 16; // operations worth handing to another thread
  int64_t perUnit = std::max<int64_t>(1, operations / units);
  return {units, std::max<int64_t>(1, (task + perUnit - 1) / perUnit)};
}

FailureOr<Work> halfstep::codegen::emitCpuKernel(OpBuilder &builder, GroupOp group) {
  OpBuilder::InsertionGuard guard(builder);
  KernelBuilder b(group.getLoc(), builder);
  int64_t depth = KernelForm(group).depth;
  if (depth > 1 && !group.getPartial() && ColumnTree(depth).chunks > 1)
    return group.emitOpError("has a reduction of several chunks, which has to be split first");
  CpuGroupEmitter emitter(b, group);
  emitter.emit();
  return emitter.work();
}

/// How many columns are computed at a time. A power of two; it is not in the results' bits. A few
/// registers' worth hides latencies; costly bodies do so by themselves, and double-precision
/// functions are calls, a lane each, of which there should be few copies.
static int64_t chooseWidth(GroupOp group) {
  bool isCostly = false;
  for (Operation &op : group.getBlock()) {
    if (!isElementaryFunction(op))
      continue;
    if (op.getResult(0).getType().isF64())
      return 8;
    isCostly = true;
  }
  return isCostly ? 16 : 32;
}

CpuGroupEmitter::CpuGroupEmitter(KernelBuilder &b, GroupOp group)
    : b(b), form(group), width(chooseWidth(group)) {}

Work CpuGroupEmitter::work() const { return divideWork(units(), form.points()); }

int64_t CpuGroupEmitter::units() const {
  switch (form.form) {
  case Form::Map:
    return form.rows * llvm::divideCeil(form.columns, mapPart);
  case Form::Transpose:
    return form.rows / form.outer.back() * llvm::divideCeil(form.outer.back(), transposeBand);
  case Form::Rows:
    if (hasShortRows())
      return form.rows / lastOuter() * llvm::divideCeil(lastOuter(), blockRows());
    return form.rows * (GroupOp(form.group).getPartial() ? RowTree(form.columns).chunks : 1);
  case Form::Columns:
    return form.rows * ColumnTree(form.depth).chunks * llvm::divideCeil(form.columns, columnBlock);
  }
  llvm_unreachable("all forms are handled");
}

void CpuGroupEmitter::emit() {
  entry = beginKernel(b, form.group.getSymName(), form.buffers.size(), buffers);
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (int64_t offset = GroupOp(form.group).getBufferOffset(i))
      buffer = b.element(buffer, form.buffers[i].storage, b.constant(offset));
  uniform = computeUniformValues(b, form, buffers);
  b.loop(entry->getArgument(1), entry->getArgument(2), 1, [&](Value unit) {
    switch (form.form) {
    case Form::Map:
      return emitMapUnit(unit);
    case Form::Transpose:
      return emitTransposeUnit(unit);
    case Form::Rows:
      return emitRowUnit(unit);
    case Form::Columns:
      return emitColumnUnit(unit);
    }
  });
}

void CpuGroupEmitter::emitMapUnit(Value unit) {
  int64_t parts = llvm::divideCeil(form.columns, mapPart);
  Row row(b, form, buffers, uniform, b.divide(unit, parts));
  row.computeValues(b, 0);
  auto storeTile = [&](Value column, int64_t count) {
    Tile(row, column, count).store(b, form.elementStores(0));
  };
  if (form.columns == 1)
    storeRow(row, Value());
  else if (form.columns <= shortRow)
    storeTile(b.constant(0), form.columns);
  else
    forTiles(b, {form.columns, parts, mapPart, b.remainder(unit, parts)}, width, storeTile);
}

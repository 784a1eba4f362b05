//===- EmitCuda.cpp - kernels for CUDA -----------------------------------------------------===//
//
// What all forms have in common, and maps. A thread works on neighbouring columns, as many as a
// 128-bit access holds; whether an access is one instruction is said by its alignment.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaGroupEmitter.h"
#include "ir/ReductionTree.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

static constexpr int64_t accessBytes = 16; // the widest access, and what buffers are aligned to

//===---------------------------------------------------------------------------------------===//
// CudaBuilder
//===---------------------------------------------------------------------------------------===//

void CudaBuilder::beginKernel(StringRef name, unsigned count, SmallVector<Value> &buffers) {
  SmallVector<Type> pointers(count, LLVM::LLVMPointerType::get(getContext(), /*global*/ 1));
  auto kernel = create<func::FuncOp>(name, getFunctionType(pointers, {}));
  function = kernel;
  Block *entry = kernel.addEntryBlock();
  buffers.assign(entry->args_begin(), entry->args_end());
  setInsertionPointToEnd(entry);
  auto end = create<func::ReturnOp>();
  setInsertionPoint(end);
}

Value CudaBuilder::thread() { return create<NVVM::ThreadIdXOp>(getI32Type()); }
Value CudaBuilder::block() { return create<NVVM::BlockIdXOp>(getI32Type()); }
void CudaBuilder::barrier() { create<NVVM::Barrier0Op>(); }

Type CudaBuilder::indexTypeFor(int64_t extent) {
  constexpr int64_t most = int64_t(1) << 30;
  return extent < most ? getI32Type() : getI64Type();
}

Value CudaBuilder::exchange(Value members, Value value, int64_t mask) {
  Type type = value.getType(), i32 = getI32Type();
  auto word = [&](Value part) -> Value {
    return create<NVVM::ShflOp>(part.getType(), members, part, constant(i32, mask),
                                constant(i32, warpLanes - 1), NVVM::ShflKind::bfly, UnitAttr());
  };
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 32)
    return word(value);
  if (bits < 32)
    return create<arith::TruncIOp>(type, word(create<arith::ExtUIOp>(i32, value)));
  auto halves = VectorType::get({2}, i32);
  Value pair = create<LLVM::BitcastOp>(halves, value);
  Value low = word(create<vector::ExtractOp>(pair, 0)),
        high = word(create<vector::ExtractOp>(pair, 1));
  Value both = create<vector::InsertOp>(high, splat(low, 2), 1);
  return create<LLVM::BitcastOp>(type, both);
}

Value CudaBuilder::shared(Type type, int64_t count) {
  allSharedBytes += llvm::alignTo(count * bytesOf(type), accessBytes);
  OpBuilder outside(function);
  std::string name =
      (SymbolTable::getSymbolName(function).getValue() + "_shared" + Twine(sharedCount++)).str();
  outside.create<LLVM::GlobalOp>(getLoc(), LLVM::LLVMArrayType::get(type, count),
                                 /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
                                 accessBytes, /*shared*/ 3);
  return create<LLVM::AddressOfOp>(LLVM::LLVMPointerType::get(getContext(), 3), name);
}

Value CudaBuilder::loadIf(Value condition, llvm::function_ref<Value()> load) {
  if (!condition)
    return load();
  auto inContext = [&](llvm::function_ref<Value()> value) {
    return [this, value](OpBuilder &inner, Location) {
      InsertionGuard guard(*this);
      restoreInsertionPoint(inner.saveInsertionPoint());
      create<scf::YieldOp>(value());
    };
  };
  Type type;
  auto loaded = [&] {
    Value value = load();
    type = value.getType();
    return value;
  };
  auto zero = [&] { return create<arith::ConstantOp>(getZeroAttr(type)).getResult(); };
  return create<scf::IfOp>(condition, inContext(loaded), inContext(zero)).getResult(0);
}

Value CudaBuilder::isBelow(Value x, int64_t bound) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::ult, x, constant(x.getType(), bound));
}

Value CudaBuilder::isLess(Value x, Value y) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::slt, x, y);
}

Value CudaBuilder::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return create<arith::AndIOp>(x, y);
}

//===---------------------------------------------------------------------------------------===//
// CudaGroupEmitter
//===---------------------------------------------------------------------------------------===//

FailureOr<Grid> halfstep::codegen::emitCudaKernel(OpBuilder &builder, GroupOp group) {
  OpBuilder::InsertionGuard guard(builder);
  CudaBuilder b(group.getLoc(), builder);
  int64_t depth = KernelForm(group).depth;
  if (depth > 1 && !group.getPartial() && ColumnTree(depth).chunks > 1)
    return group.emitOpError("has a reduction of several chunks, which has to be split first");
  Grid grid = CudaGroupEmitter(b, group).emit();
  if (b.sharedBytes() > mostSharedBytes)
    return group.emitOpError("needs ")
           << b.sharedBytes() << " bytes of a block's shared memory, of which there are "
           << mostSharedBytes << "; shorter rows, or fewer reductions of them, need less";
  return grid;
}

CudaGroupEmitter::CudaGroupEmitter(CudaBuilder &b, GroupOp group) : b(b), form(group) {
  int64_t largest = form.points();
  for (unsigned i = 0; i < group.getNumBuffers(); ++i) {
    int64_t extent = group.getBufferOffset(i) + 1;
    for (auto [size, stride] : llvm::zip(group.getSpace(), group.getBufferStrides(i)))
      extent += (size - 1) * std::abs(stride);
    largest = std::max(largest, extent);
  }
  indexType = b.indexTypeFor(largest);
}

Grid CudaGroupEmitter::emit() {
  b.beginKernel(form.group.getSymName(), form.buffers.size(), buffers);
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (int64_t offset = form.group.getBufferOffset(i))
      buffer = b.element(buffer, form.buffers[i].storage, b.constant(offset));
  switch (form.form) {
  case Form::Map:
    emitMap();
    break;
  case Form::Transpose:
    emitTranspose();
    break;
  case Form::Rows:
    emitRows();
    break;
  case Form::Columns:
    emitColumns();
    break;
  }
  return grid;
}

int64_t halfstep::codegen::alignmentFor(Type storage, int64_t width, ArrayRef<int64_t> strides) {
  int64_t element = bytesOf(storage), alignment = std::min(width * element, accessBytes);
  for (int64_t stride : strides)
    while (stride * element % alignment)
      alignment /= 2;
  return alignment;
}

int64_t CudaGroupEmitter::alignmentOf(unsigned buffer, int64_t width) const {
  const View &view = form.buffers[buffer];
  SmallVector<int64_t> strides(view.outer);
  strides.append({view.depth, GroupOp(form.group).getBufferOffset(buffer)});
  return alignmentFor(view.storage, width, strides);
}

CudaGroupEmitter::Guard CudaGroupEmitter::guardOf(Value column, int64_t width, int64_t columns,
                                                  bool isInside) {
  Guard guard;
  if (isInside)
    return guard;
  if (columns % width == 0) {
    guard.whole = b.isBelow(column, columns);
    return guard;
  }
  for (int64_t i = 0; i < width; ++i)
    guard.each.push_back(b.isBelow(b.add(column, i), columns));
  return guard;
}

/// A tile that reads nothing outside the row; what stands for columns that are not there is zero.
Tile CudaGroupEmitter::tileAt(const Row &row, Value column, int64_t width, const Guard &guard) {
  auto load = [this, &row, column, width, guard](KernelBuilder &, unsigned buffer) -> Value {
    const View &view = form.buffers[buffer];
    Type storage = view.storage;
    auto address = [&](Value position) {
      return b.element(row.pointers[buffer], storage, b.mul(position, view.inner));
    };
    if (view.inner == 0)
      return b.splat(b.load(row.pointers[buffer], storage, 0), width);
    if (view.inner == 1 && guard.each.empty())
      return b.widen(b.loadIf(guard.whole,
                              [&] {
                                return b.loadRaw(address(column), storage, width,
                                                 alignmentOf(buffer, width));
                              }),
                     storage);
    Value result;
    for (int64_t i = 0; i < width; ++i) {
      Value one = b.loadIf(guard.each.empty() ? guard.whole : guard.each[i],
                           [&] { return b.loadRaw(address(b.add(column, i)), storage, 0); });
      result =
          result ? b.create<vector::InsertOp>(one, result, i).getResult() : b.splat(one, width);
    }
    return b.widen(result, storage);
  };
  return Tile(row, column, width, load);
}

/// Every value is computed before the first is stored: buffers may be updated in place.
void CudaGroupEmitter::storeTile(Tile &tile, const Row &row, Value column, int64_t width,
                                 const Guard &guard, ArrayRef<KernelForm::Store> stores) {
  SmallVector<Value> values;
  for (KernelForm::Store store : stores)
    values.push_back(tile.get(b, store.value));
  for (auto [store, value] : llvm::zip(stores, values)) {
    const View &view = form.buffers[store.buffer];
    Value pointer = row.pointers[store.buffer];
    auto address = [&](Value position) {
      return b.element(pointer, view.storage, b.mul(position, view.inner));
    };
    if (view.inner == 1 && guard.each.empty()) {
      b.when(guard.whole, [&, &stored = value, &to = store] {
        b.store(stored, address(column), view.storage, width, alignmentOf(to.buffer, width));
      });
      continue;
    }
    for (int64_t i = 0; i < width; ++i)
      b.when(guard.each.empty() ? guard.whole : guard.each[i], [&, &stored = value] {
        Value one = b.create<vector::ExtractOp>(stored, i);
        b.store(one, address(b.add(column, i)), view.storage, 0);
      });
  }
}

//===---------------------------------------------------------------------------------------===//
// Maps
//===---------------------------------------------------------------------------------------===//

/// Columns that a thread of a map works on. Rows of which they are no divisor are misaligned, and
/// get narrower accesses; a single row has a tail of single columns instead.
static int64_t mapWidth(const KernelForm &form) {
  int64_t narrowest = accessBytes;
  for (const View &view : form.buffers)
    if (view.inner)
      narrowest = std::min(narrowest, bytesOf(view.storage));
  int64_t width = accessBytes / narrowest;
  constexpr int64_t mostColumns = 8; // bytes would give 16: too many registers of f32
  width = std::min(width, mostColumns);
  while (form.rows > 1 && form.columns % width)
    width /= 2;
  return std::min<int64_t>(width, llvm::bit_floor(uint64_t(form.columns)));
}

void CudaGroupEmitter::emitMap() {
  int64_t width = mapWidth(form), tiles = form.columns / width, tail = form.columns % width;
  int64_t units = form.rows * (tiles + tail);
  grid = b.parallelFor(units, indexType, [&](Value unit) {
    uniform = computeUniformValues(b, form, buffers);
    Row row(b, form, buffers, uniform, b.divide(unit, tiles + tail));
    row.computeValues(b, 0);
    if (form.columns == 1) {
      for (KernelForm::Store store : form.rowStores())
        b.store(row.values.lookup(store.value), row.pointers[store.buffer],
                form.buffers[store.buffer].storage, 0);
      return;
    }
    Value at = b.remainder(unit, tiles + tail);
    auto emitTile = [&](Value column, int64_t columns) {
      Tile tile = tileAt(row, column, columns, Guard());
      storeTile(tile, row, column, columns, Guard(), form.elementStores(0));
    };
    auto emitWhole = [&] { emitTile(b.mul(at, width), width); };
    if (tail)
      b.ifLess(at, position(tiles), emitWhole,
               [&] { emitTile(b.add(at, form.columns - tail - tiles), 1); });
    else
      emitWhole();
  });
}

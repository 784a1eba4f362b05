//===- KernelBuilder.cpp - the vocabulary that kernels are emitted in ----------------------===//

#include "codegen/KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

Type KernelBuilder::vectorOf(Type type, int64_t width) {
  return width ? Type(VectorType::get({width}, type)) : type;
}

/// The type of the same shape with elements of type `element`.
static Type withElement(Type shape, Type element) {
  auto vector = dyn_cast<VectorType>(shape);
  return vector ? Type(vector.clone(element)) : element;
}

Value KernelBuilder::splat(Value scalar, int64_t width) {
  return width ? create<vector::SplatOp>(vectorOf(scalar.getType(), width), scalar).getResult()
               : scalar;
}

Value KernelBuilder::number(Type type, int64_t value) {
  auto vector = dyn_cast<VectorType>(type);
  Value scalar = constant(vector ? vector.getElementType() : type, value);
  return splat(scalar, vector ? vector.getDimSize(0) : 0);
}

Value KernelBuilder::element(Value pointer, Type storage, Value index) {
  // A boolean is a byte, whatever LLVM's layout of i1.
  Type unit = storage.isInteger(1) ? Type(getI8Type()) : storage;
  if (storage.isUnsignedInteger(8))
    unit = getI8Type();
  return create<LLVM::GEPOp>(pointer.getType(), unit, pointer, ArrayRef<LLVM::GEPArg>{index});
}

//===---------------------------------------------------------------------------------------===//
// Memory
//===---------------------------------------------------------------------------------------===//

/// What a load of `storage` gives. bf16 travels as i16 and is converted by integer arithmetic: the
/// code generator would call a library, or use an instruction that flushes small numbers to zero.
static Type rawType(Type storage) {
  MLIRContext *context = storage.getContext();
  if (storage.isBF16())
    return IntegerType::get(context, 16);
  if (storage.isInteger(1) || storage.isUnsignedInteger(8))
    return IntegerType::get(context, 8);
  return storage;
}

static unsigned alignment(Type storage) { return (storage.getIntOrFloatBitWidth() + 7) / 8; }

Value KernelBuilder::loadRaw(Value pointer, Type storage, int64_t width) {
  return create<LLVM::LoadOp>(vectorOf(rawType(storage), width), pointer, alignment(storage));
}

Value KernelBuilder::widen(Value raw, Type storage) {
  Type type = withElement(raw.getType(), computeType(storage));
  if (storage.isInteger(1))
    return create<arith::CmpIOp>(arith::CmpIPredicate::ne, raw, number(raw.getType(), 0));
  if (storage.isUnsignedInteger(8))
    return create<arith::ExtUIOp>(type, raw);
  if (storage.isBF16()) {
    Type bits = withElement(type, getI32Type());
    Value wide = create<arith::ShLIOp>(create<arith::ExtUIOp>(bits, raw), number(bits, 16));
    return create<arith::BitcastOp>(type, wide);
  }
  return raw.getType() == type ? raw : create<arith::ExtFOp>(type, raw).getResult();
}

Value KernelBuilder::narrow(Value value, Type storage) {
  Type raw = withElement(value.getType(), rawType(storage));
  if (storage.isInteger(1))
    return create<arith::ExtUIOp>(raw, value);
  if (storage.isUnsignedInteger(8))
    return create<arith::TruncIOp>(raw, value);
  if (storage.isBF16())
    return roundToBFloat16(value);
  return value.getType() == raw ? value : create<arith::TruncFOp>(raw, value).getResult();
}

/// f32 to the bits of bf16, to nearest even; a NaN stays one.
Value KernelBuilder::roundToBFloat16(Value value) {
  Type wide = withElement(value.getType(), getI32Type());
  Value bits = create<arith::BitcastOp>(wide, value);
  Value high = create<arith::ShRUIOp>(bits, number(wide, 16));
  Value odd = create<arith::AndIOp>(high, number(wide, 1));
  Value rounded =
      create<arith::ShRUIOp>(add(add(bits, number(wide, 0x7fff)), odd), number(wide, 16));
  Value quiet = create<arith::OrIOp>(high, number(wide, 0x40));
  Value isNaN = create<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
  Value result = create<arith::SelectOp>(isNaN, quiet, rounded);
  return create<arith::TruncIOp>(withElement(wide, getI16Type()), result);
}

Value KernelBuilder::load(Value pointer, Type storage, int64_t width) {
  return widen(loadRaw(pointer, storage, width), storage);
}

void KernelBuilder::store(Value value, Value pointer, Type storage) {
  create<LLVM::StoreOp>(narrow(value, storage), pointer, alignment(storage));
}

Value KernelBuilder::loadStrided(Value pointer, Type storage, int64_t width, int64_t stride) {
  if (stride == 1 || width == 1)
    return load(pointer, storage, width);
  if (stride == 0)
    return splat(load(pointer, storage, 0), width);
  Value result;
  for (int64_t i = 0; i < width; ++i) {
    Value raw = loadRaw(element(pointer, storage, constant(i * stride)), storage, 0);
    result = result ? create<vector::InsertOp>(raw, result, i).getResult() : splat(raw, width);
  }
  return widen(result, storage);
}

void KernelBuilder::storeStrided(Value value, Value pointer, Type storage, int64_t stride) {
  int64_t width = cast<VectorType>(value.getType()).getDimSize(0);
  if (stride == 1 || width == 1)
    return store(value, pointer, storage);
  Value raw = narrow(value, storage);
  for (int64_t i = 0; i < width; ++i)
    create<LLVM::StoreOp>(create<vector::ExtractOp>(raw, i),
                          element(pointer, storage, constant(i * stride)), alignment(storage));
}

Value KernelBuilder::stack(Block *entry, Type type, int64_t count) {
  InsertionGuard guard(*this);
  setInsertionPointToStart(entry);
  auto pointer = LLVM::LLVMPointerType::get(getContext());
  return create<LLVM::AllocaOp>(pointer, type, constant(count), /*alignment=*/64);
}

//===---------------------------------------------------------------------------------------===//
// Reductions
//===---------------------------------------------------------------------------------------===//

Value KernelBuilder::combine(ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case ReduceKind::Add:
    return isFloat ? create<arith::AddFOp>(x, y).getResult()
                   : create<arith::AddIOp>(x, y).getResult();
  case ReduceKind::Max:
    return isFloat ? create<arith::MaximumFOp>(x, y).getResult()
                   : create<arith::MaxSIOp>(x, y).getResult();
  case ReduceKind::Min:
    return isFloat ? create<arith::MinimumFOp>(x, y).getResult()
                   : create<arith::MinSIOp>(x, y).getResult();
  case ReduceKind::Or:
    return create<arith::OrIOp>(x, y);
  }
  llvm_unreachable("all kinds are handled");
}

Value KernelBuilder::identity(ReduceKind kind, Type scalar, int64_t width) {
  TypedAttr value;
  if (isa<FloatType>(scalar)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    value = getFloatAttr(scalar, kind == ReduceKind::Add   ? -0.0
                                 : kind == ReduceKind::Max ? -infinity
                                                           : infinity);
  } else {
    unsigned bits = scalar.getIntOrFloatBitWidth();
    APInt number(bits, 0);
    if (kind == ReduceKind::Max)
      number = APInt::getSignedMinValue(bits);
    if (kind == ReduceKind::Min)
      number = APInt::getSignedMaxValue(bits);
    value = getIntegerAttr(scalar, number);
  }
  return splat(create<arith::ConstantOp>(value), width);
}

Value KernelBuilder::combineLanes(ReduceKind kind, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t width = type.getDimSize(0), all = llvm::PowerOf2Ceil(width);
  if (width < all) {
    SmallVector<int64_t> indices = llvm::to_vector(llvm::seq<int64_t>(0, width));
    indices.append(all - width, width); // a lane of the identity
    vector =
        create<vector::ShuffleOp>(vector, identity(kind, type.getElementType(), width), indices);
  }
  for (; all > 1; all /= 2) {
    SmallVector<int64_t> even, odd;
    for (int64_t i = 0; i < all; i += 2) {
      even.push_back(i);
      odd.push_back(i + 1);
    }
    vector = combine(kind, create<vector::ShuffleOp>(vector, vector, even),
                     create<vector::ShuffleOp>(vector, vector, odd));
  }
  return create<vector::ExtractOp>(vector, 0);
}

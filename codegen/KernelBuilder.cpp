//===- KernelBuilder.cpp - the vocabulary that kernels are emitted in ----------------------===//

#include "codegen/KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

Type KernelBuilder::vectorOf(Type type, int64_t width) {
  return width ? Type(VectorType::get({int64_t(llvm::PowerOf2Ceil(width))}, type)) : type;
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

int64_t halfstep::codegen::bytesOf(Type storage) {
  return llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
}

/// A shuffle's lanes: [0, width) of its first operand, then one of the second up to `lanes`.
static SmallVector<int64_t> paddedLanes(int64_t width, int64_t lanes, int64_t second) {
  SmallVector<int64_t> indices = llvm::to_vector(llvm::seq<int64_t>(0, width));
  indices.append(lanes - width, second);
  return indices;
}

Value KernelBuilder::loadRaw(Value pointer, Type storage, int64_t width, int64_t alignment) {
  Type raw = rawType(storage);
  Type type = width ? Type(VectorType::get({width}, raw)) : raw;
  Value value = create<LLVM::LoadOp>(type, pointer, alignment ? alignment : bytesOf(storage));
  if (!width || llvm::isPowerOf2_64(width))
    return value;
  return shuffle(value, create<LLVM::PoisonOp>(type),
                 paddedLanes(width, llvm::PowerOf2Ceil(width), width));
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

Value KernelBuilder::load(Value pointer, Type storage, int64_t width, int64_t alignment) {
  return widen(loadRaw(pointer, storage, width, alignment), storage);
}

void KernelBuilder::store(Value value, Value pointer, Type storage, int64_t width,
                          int64_t alignment) {
  Value raw = narrow(value, storage);
  if (width && !llvm::isPowerOf2_64(width))
    raw = shuffle(raw, raw, llvm::to_vector(llvm::seq<int64_t>(0, width)));
  create<LLVM::StoreOp>(raw, pointer, alignment ? alignment : bytesOf(storage));
}

Value KernelBuilder::loadStrided(Value pointer, Type storage, int64_t width, int64_t stride) {
  if (stride == 1 || width == 1)
    return load(pointer, storage, width);
  if (stride == 0)
    return splat(load(pointer, storage, 0), width);
  Value result = create<LLVM::PoisonOp>(vectorOf(rawType(storage), width));
  for (int64_t i = 0; i < width; ++i) {
    Value raw = loadRaw(element(pointer, storage, constant(i * stride)), storage, 0);
    result = create<vector::InsertOp>(raw, result, i);
  }
  return widen(result, storage);
}

void KernelBuilder::storeStrided(Value value, Value pointer, Type storage, int64_t width,
                                 int64_t stride) {
  if (stride == 1 || width == 1)
    return store(value, pointer, storage, width);
  Value raw = narrow(value, storage);
  for (int64_t i = 0; i < width; ++i)
    create<LLVM::StoreOp>(create<vector::ExtractOp>(raw, i),
                          element(pointer, storage, constant(i * stride)), bytesOf(storage));
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

Value KernelBuilder::pad(ReduceKind kind, Value vector, int64_t width, int64_t lanes) {
  auto type = cast<VectorType>(vector.getType());
  if (width == lanes)
    return vector;
  Value missing = identity(kind, type.getElementType(), type.getDimSize(0));
  return shuffle(vector, missing, paddedLanes(width, lanes, type.getDimSize(0)));
}

Value KernelBuilder::combineEach(ReduceKind kind, SmallVector<Value> vectors, int64_t width) {
  auto type = cast<VectorType>(vectors[0].getType());
  int64_t lanes = type.getDimSize(0);
  for (Value &vector : vectors)
    vector = pad(kind, vector, width, lanes);
  vectors.resize(llvm::PowerOf2Ceil(vectors.size()), vectors.back());
  // Neighbouring vectors become one, of their pairs' results: with the rows in order all the time.
  for (int64_t rest = lanes; rest > 1; rest /= 2) {
    bool isSingle = vectors.size() == 1;
    SmallVector<int64_t> even, odd;
    for (int64_t i = 0; i < (isSingle ? lanes : 2 * lanes); i += 2) {
      even.push_back(i);
      odd.push_back(i + 1);
    }
    for (size_t i = 0; i < std::max<size_t>(1, vectors.size() / 2); ++i) {
      Value x = vectors[2 * i], y = vectors[isSingle ? 0 : 2 * i + 1];
      vectors[i] = combine(kind, shuffle(x, y, even), shuffle(x, y, odd));
    }
    if (isSingle)
      lanes /= 2;
    vectors.resize(std::max<size_t>(1, vectors.size() / 2));
  }
  for (; vectors.size() > 1; vectors.resize(vectors.size() / 2), lanes *= 2) {
    auto both = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
    for (size_t i = 0; i < vectors.size() / 2; ++i)
      vectors[i] = shuffle(vectors[2 * i], vectors[2 * i + 1], both);
  }
  return vectors[0];
}

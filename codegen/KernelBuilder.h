//===- KernelBuilder.h - the vocabulary that kernels are emitted in ------------------------===//
//
// Kernels are func, scf, arith, math and one-dimensional vectors over !llvm.ptr: element type and
// alignment of an access are said where it is made, and no later pass decides the order of
// anything.
//
// A vector of `width` elements has as many lanes as the next power of two; what is in the lanes
// beyond is arbitrary. Vectors of other lengths would fall apart into scalars wherever they go from
// one basic block to another. Width 0 stands for a scalar.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_KERNELBUILDER_H
#define HALFSTEP_CODEGEN_KERNELBUILDER_H

#include "ir/KernelDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace halfstep::codegen {

using mlir::ArrayRef;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// How many bytes an element takes in memory; a boolean takes one.
int64_t bytesOf(Type storage);

class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value constant(int64_t value) { return constant(getI64Type(), value); }
  Value constant(Type type, int64_t value) {
    return create<mlir::arith::ConstantOp>(getIntegerAttr(type, value));
  }
  Value add(Value x, Value y) { return create<mlir::arith::AddIOp>(x, y); }
  Value add(Value x, int64_t y) { return y ? add(x, constant(x.getType(), y)) : x; }
  Value sub(Value x, Value y) { return create<mlir::arith::SubIOp>(x, y); }
  Value mul(Value x, int64_t y) {
    return y == 1 ? x : create<mlir::arith::MulIOp>(x, constant(x.getType(), y)).getResult();
  }
  Value divide(Value x, int64_t y) {
    return y == 1 ? x : create<mlir::arith::DivUIOp>(x, constant(x.getType(), y)).getResult();
  }
  Value remainder(Value x, int64_t y) {
    Value c = constant(x.getType(), y == 1 ? 0 : y);
    return y == 1 ? c : create<mlir::arith::RemUIOp>(x, c).getResult();
  }
  Value smaller(Value x, Value y) { return create<mlir::arith::MinUIOp>(x, y); }

  /// `type` itself for width 0, else a vector for `width` elements of it.
  static Type vectorOf(Type type, int64_t width);
  Value splat(Value scalar, int64_t width);
  /// A position as i32, which bodies count in.
  Value toI32(Value position) {
    return position.getType().isInteger(32)
               ? position
               : create<mlir::arith::TruncIOp>(getI32Type(), position).getResult();
  }
  /// An integer in a scalar or in every lane of a vector.
  Value number(Type type, int64_t value);
  Value shuffle(Value x, Value y, ArrayRef<int64_t> lanes) {
    return create<mlir::vector::ShuffleOp>(x, y, lanes);
  }

  /// The address of element `index`, counted in elements of `storage`.
  Value element(Value pointer, Type storage, Value index);
  /// `width` neighbouring elements, in their compute type. `alignment` of the pointer is in bytes,
  /// 0 for that of an element.
  Value load(Value pointer, Type storage, int64_t width, int64_t alignment = 0);
  void store(Value value, Value pointer, Type storage, int64_t width, int64_t alignment = 0);
  /// Elements `stride` apart, which may be 0 for a load.
  Value loadStrided(Value pointer, Type storage, int64_t width, int64_t stride);
  void storeStrided(Value value, Value pointer, Type storage, int64_t width, int64_t stride);
  /// What is in memory, as it is there (i8 for booleans, i16 for bf16), from and to compute types.
  Value loadRaw(Value pointer, Type storage, int64_t width, int64_t alignment = 0);
  Value widen(Value raw, Type storage);
  Value narrow(Value value, Type storage);

  Value combine(kernel::ReduceKind kind, Value x, Value y);
  Value identity(kernel::ReduceKind kind, Type scalar, int64_t width);
  /// A vector of `lanes` lanes: the `width` values of another one, then the identity.
  Value pad(kernel::ReduceKind kind, Value vector, int64_t width, int64_t lanes);
  /// Combines the `width` values of each vector in pairs, lowest index bit first, all vectors at
  /// once: lane i of the result is vector i's. Values missing to a power of two are the identity.
  Value combineEach(kernel::ReduceKind kind, SmallVector<Value> vectors, int64_t width);

  /// Memory of the kernel's own: `count` elements, at the start of the function `entry`.
  Value stack(mlir::Block *entry, Type type, int64_t count);

  /// for (i = from; i < to; i += step) body(i)
  template <typename Body> void loop(Value from, Value to, int64_t step, Body body) {
    auto loop = create<mlir::scf::ForOp>(from, to, constant(from.getType(), step));
    InsertionGuard guard(*this);
    setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  /// The same, carrying values from one iteration to the next: values = body(i, values).
  template <typename Body>
  SmallVector<Value> fold(Value from, Value to, int64_t step, SmallVector<Value> values,
                          Body body) {
    auto loop = create<mlir::scf::ForOp>(from, to, constant(from.getType(), step), values);
    InsertionGuard guard(*this);
    setInsertionPointToStart(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    create<mlir::scf::YieldOp>(body(loop.getInductionVar(), carried));
    return loop.getResults();
  }
  /// if (x < y) body() else otherwise()
  template <typename Body, typename Otherwise>
  void ifLess(Value x, Value y, Body body, Otherwise otherwise) {
    Value isLess = create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt, x, y);
    auto conditional = create<mlir::scf::IfOp>(isLess, /*withElseRegion=*/true);
    InsertionGuard guard(*this);
    setInsertionPointToStart(conditional.thenBlock());
    body();
    setInsertionPointToStart(conditional.elseBlock());
    otherwise();
  }
  /// if (x == y) body()
  template <typename Body> void ifEqual(Value x, Value y, Body body) {
    Value equal = create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, x, y);
    auto conditional = create<mlir::scf::IfOp>(equal, /*withElseRegion=*/false);
    InsertionGuard guard(*this);
    setInsertionPointToStart(conditional.thenBlock());
    body();
  }

private:
  Value roundToBFloat16(Value value);
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_KERNELBUILDER_H

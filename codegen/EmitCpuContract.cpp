//===- EmitCpuContract.cpp - tiny matrix products ------------------------------------------===//
//
// A few rows of c at a time, a vector along its columns; k goes by in order, each step one fused
// multiply-add an element, so that no blocking shows in the bits. b has to be contiguous along n
// for that: where it is not, it is first copied to the stack so that it is.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CpuGroupEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

namespace {
constexpr int64_t blockRows = 6;           // with 16 columns of f32: the registers of AVX2
constexpr int64_t longestPacked = 1 << 13; // elements of b on the stack

class ContractEmitter {
public:
  ContractEmitter(KernelBuilder &b, ContractOp op);

  int64_t units() const { return batch * (packs ? 1 : rowBlocks()); }
  void emit();

private:
  int64_t rowBlocks() const { return llvm::divideCeil(m, blockRows); }
  void emitRowBlocks(Value batchIndex, Value from, Value to);
  void emitBlock(Value batchIndex, Value firstRow, int64_t rows);
  void pack(Value batchIndex);
  /// The address of an element of a matrix of the batch.
  Value address(Value matrix, ArrayRef<int64_t> strides, Value batchIndex, Value row, Value column);

  KernelBuilder &b;
  StringRef name;
  Type type, compute; // of storage and of products and sums
  int64_t batch, m, n, k;
  SmallVector<int64_t> aStrides, bStrides, cStrides;
  bool isSwapped = false; // c's transpose is computed, from b's and a's
  bool packs = false;
  bool hasBias;
  SmallVector<Value> buffers; // a, b, c
  Value bias;
  Value packed;
};
} // namespace

ContractEmitter::ContractEmitter(KernelBuilder &b, ContractOp op)
    : b(b), name(op.getSymName()), type(op.getType()), compute(computeType(type)),
      batch(op.getBatch()), m(op.getM()), n(op.getN()), k(op.getK()), aStrides(op.getAStrides()),
      bStrides(op.getBStrides()), cStrides(op.getCStrides()), hasBias(op.getBias()) {
  bool alongN = bStrides[2] == 1 && cStrides[2] == 1;
  bool alongM = aStrides[1] == 1 && cStrides[1] == 1;
  if ((!alongN || n == 1) && alongM) {
    isSwapped = true;
    std::swap(m, n);
    std::swap(aStrides, bStrides);
    std::swap(aStrides[1], aStrides[2]);
    std::swap(bStrides[1], bStrides[2]);
    std::swap(cStrides[1], cStrides[2]);
  }
  packs = n > 1 && m > 1 && bStrides[2] != 1 && k * n <= longestPacked;
}

void ContractEmitter::emit() {
  Block *entry = beginKernel(b, name, hasBias ? 4 : 3, buffers);
  if (hasBias) {
    bias = buffers[2];
    buffers.erase(buffers.begin() + 2);
  }
  if (isSwapped)
    std::swap(buffers[0], buffers[1]);
  Value lo = entry->getArgument(1), hi = entry->getArgument(2);
  if (packs)
    packed = b.stack(entry, compute, k * n);
  if (!packs) {
    b.loop(lo, hi, 1, [&](Value unit) {
      Value block = b.remainder(unit, rowBlocks());
      emitRowBlocks(b.divide(unit, rowBlocks()), block, b.add(block, 1));
    });
    return;
  }
  b.loop(lo, hi, 1, [&](Value unit) {
    pack(unit);
    emitRowBlocks(unit, b.constant(0), b.constant(rowBlocks()));
  });
}

Value ContractEmitter::address(Value matrix, ArrayRef<int64_t> strides, Value batchIndex, Value row,
                               Value column) {
  Value offset = b.constant(0);
  for (auto [index, stride] : llvm::zip(std::array{batchIndex, row, column}, strides))
    if (stride)
      offset = b.add(offset, b.mul(index, stride));
  return b.element(matrix, type, offset);
}

/// Copies a matrix of b to the stack, as [k][n].
void ContractEmitter::pack(Value batchIndex) {
  b.loop(b.constant(0), b.constant(n), 1, [&](Value column) {
    b.loop(b.constant(0), b.constant(k), 1, [&](Value row) {
      Value value = b.load(address(buffers[1], bStrides, batchIndex, row, column), type, 0);
      b.store(value, b.element(packed, compute, b.add(b.mul(row, n), column)), compute, 0);
    });
  });
}

void ContractEmitter::emitRowBlocks(Value batchIndex, Value from, Value to) {
  int64_t full = m / blockRows, rest = m % blockRows;
  if (full)
    b.loop(from, b.smaller(to, b.constant(full)), 1,
           [&](Value block) { emitBlock(batchIndex, b.mul(block, blockRows), blockRows); });
  if (rest)
    b.ifEqual(to, b.constant(rowBlocks()),
              [&] { emitBlock(batchIndex, b.constant(full * blockRows), rest); });
}

void ContractEmitter::emitBlock(Value batchIndex, Value firstRow, int64_t rows) {
  auto emitTile = [&](Value column, int64_t width) {
    Value zero = b.splat(b.create<arith::ConstantOp>(b.getFloatAttr(compute, 0.0)), width);
    SmallVector<Value> sums(rows, zero);
    sums = b.fold(b.constant(0), b.constant(k), 1, sums, [&](Value i, SmallVector<Value> carried) {
      Value right =
          packed ? b.load(b.element(packed, compute, b.add(b.mul(i, n), column)), compute, width)
                 : b.loadStrided(address(buffers[1], bStrides, batchIndex, i, column), type, width,
                                 bStrides[2]);
      for (auto [r, sum] : llvm::enumerate(carried)) {
        Value left =
            b.load(address(buffers[0], aStrides, batchIndex, b.add(firstRow, r), i), type, 0);
        sum = b.create<math::FmaOp>(b.splat(left, width), right, sum);
      }
      return carried;
    });
    // Of c's columns; of its rows, where c's transpose is computed.
    auto loadBias = [&](int64_t row) {
      return isSwapped
                 ? b.splat(b.load(b.element(bias, type, b.add(firstRow, row)), type, 0), width)
                 : b.load(b.element(bias, type, column), type, width);
    };
    for (auto [r, sum] : llvm::enumerate(sums)) {
      if (bias)
        sum = b.create<arith::AddFOp>(sum, loadBias(r));
      b.storeStrided(sum, address(buffers[2], cStrides, batchIndex, b.add(firstRow, r), column),
                     type, width, cStrides[2]);
    }
  };
  int64_t tile = compute.isF32() ? 16 : 8;
  if (n <= tile)
    emitTile(b.constant(0), n);
  else
    forTiles(b, {n, 1, n, Value()}, tile, emitTile);
}

FailureOr<Work> halfstep::codegen::emitCpuKernel(OpBuilder &builder, ContractOp contract) {
  OpBuilder::InsertionGuard guard(builder);
  KernelBuilder b(contract.getLoc(), builder);
  ContractEmitter emitter(b, contract);
  emitter.emit();
  return divideWork(emitter.units(),
                    contract.getBatch() * contract.getM() * contract.getN() * contract.getK());
}

//===- CudaTensorCores.cpp - what a warp does for matrix products ---------------------------===//

#include "codegen/CudaTensorCores.h"

using namespace mlir;
using namespace halfstep::codegen;

static constexpr int64_t copyBytes = 16;

static void callIntrinsic(CudaBuilder &b, StringRef name, ValueRange operands) {
  b.create<LLVM::CallIntrinsicOp>(TypeRange(), b.getStringAttr(name), operands);
}

/// The members of the struct that an intrinsic returns, which are `count` of `type`.
static SmallVector<Value> callIntrinsic(CudaBuilder &b, StringRef name, ValueRange operands,
                                        Type type, unsigned count) {
  auto all = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, type));
  Value result =
      b.create<LLVM::CallIntrinsicOp>(TypeRange(all), b.getStringAttr(name), operands).getResult(0);
  SmallVector<Value> members;
  for (unsigned i = 0; i < count; ++i)
    members.push_back(b.create<LLVM::ExtractValueOp>(result, i));
  return members;
}

void halfstep::codegen::copyAsync(CudaBuilder &b, Value to, Value from, Value isThere) {
  Value bytes = b.constant(b.getI32Type(), copyBytes);
  if (isThere)
    bytes = b.create<arith::SelectOp>(isThere, bytes, b.constant(b.getI32Type(), 0));
  callIntrinsic(b, "llvm.nvvm.cp.async.cg.shared.global.16.s", {to, from, bytes});
}

void halfstep::codegen::commitCopies(CudaBuilder &b) {
  callIntrinsic(b, "llvm.nvvm.cp.async.commit.group", {});
}

void halfstep::codegen::waitForCopies(CudaBuilder &b, int64_t pending) {
  callIntrinsic(b, "llvm.nvvm.cp.async.wait.group", b.constant(b.getI32Type(), pending));
}

SmallVector<Value> halfstep::codegen::loadMatrices(CudaBuilder &b, Value row, bool isTransposed) {
  return callIntrinsic(b,
                       isTransposed ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                                    : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16",
                       row, b.getI32Type(), 4);
}

void halfstep::codegen::multiplyMatrices(CudaBuilder &b, Type storage, ArrayRef<Value> left,
                                         ArrayRef<Value> right, llvm::MutableArrayRef<Value> sums) {
  // Pairs of f16 have a type of their own, those of bf16 are plain words.
  auto pairs = VectorType::get({2}, b.getF16Type());
  SmallVector<Value> operands;
  for (ArrayRef<Value> registers : {left, right})
    for (Value word : registers)
      operands.push_back(storage.isF16() ? b.create<LLVM::BitcastOp>(pairs, word).getResult()
                                         : word);
  operands.append(sums.begin(), sums.end());
  llvm::copy(callIntrinsic(b,
                           storage.isF16() ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
                                           : "llvm.nvvm.mma.m16n8k16.row.col.bf16",
                           operands, b.getF32Type(), 4),
             sums.begin());
}

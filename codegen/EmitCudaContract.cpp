//===- EmitCudaContract.cpp - tiny matrix products -----------------------------------------===//
//
// A thread an element of c: these products are too small for anything else to pay. The order of the
// sum is that of the CPU: k ascending, one fused multiply-add a step.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaGroupEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

FailureOr<Grid> halfstep::codegen::emitCudaKernel(OpBuilder &builder, ContractOp op) {
  OpBuilder::InsertionGuard guard(builder);
  CudaBuilder b(op.getLoc(), builder);
  SmallVector<Value> buffers;
  b.beginKernel(op.getSymName(), op.getBias() ? 4 : 3, buffers);
  Type storage = op.getType(), compute = computeType(storage), i64 = b.getI64Type();
  int64_t elements = op.getBatch() * op.getM() * op.getN();
  return b.parallelFor(elements, i64, [&](Value unit) {
    Value column = b.remainder(unit, op.getN()), rest = b.divide(unit, op.getN());
    Value row = b.remainder(rest, op.getM()), batch = b.divide(rest, op.getM());
    auto offset = [&](ArrayRef<int64_t> strides, Value second, Value third) {
      return b.add(b.add(b.mul(batch, strides[0]), b.mul(second, strides[1])),
                   b.mul(third, strides[2]));
    };
    Value zero = b.create<arith::ConstantOp>(b.getFloatAttr(compute, 0.0));
    Value sum = b.fold(
        b.constant(0), b.constant(op.getK()), 1, {zero}, [&](Value k, SmallVector<Value> sums) {
          Value x =
              b.load(b.element(buffers[0], storage, offset(op.getAStrides(), row, k)), storage, 0);
          Value y = b.load(b.element(buffers[1], storage, offset(op.getBStrides(), k, column)),
                           storage, 0);
          sums[0] = b.create<math::FmaOp>(x, y, sums[0]);
          return sums;
        })[0];
    if (op.getBias())
      sum =
          b.create<arith::AddFOp>(sum, b.load(b.element(buffers[2], storage, column), storage, 0));
    b.store(sum, b.element(buffers.back(), storage, offset(op.getCStrides(), row, column)), storage,
            0);
  });
}

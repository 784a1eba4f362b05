//===- ImportRulesContraction.cpp - MatMul and Gemm -----------------------===//

#include "frontend/ImportRules.h"
#include "frontend/ShapeOperands.h"
#include "ir/TrainDialect.h"

using namespace mlir;

namespace halfstep {
namespace {

Value matmul(OpBinder &b, Value lhs, Value rhs, bool transA = false, bool transB = false) {
  Builder &builder = b.scope.builder;
  return b.create<train::MatmulOp>({lhs, rhs}, {b.named("transA", builder.getBoolAttr(transA)),
                                                b.named("transB", builder.getBoolAttr(transB))});
}

/// numpy's matmul: a vector on the left is a row, one on the right a column, and the dimension of
/// size 1 that this adds is removed from the result.
LogicalResult matmulNode(OpBinder &b) {
  FailureOr<SmallVector<Value>> operands = b.numbers();
  if (failed(operands))
    return failure();
  Value lhs = (*operands)[0], rhs = (*operands)[1];
  if (!isa<FloatType>(getElementTypeOrSelf(lhs)))
    return b.error() << "multiplies integer matrices, which is not supported";
  SmallVector<int64_t> left(sizesOf(lhs)), right(sizesOf(rhs));
  if (left.empty() || right.empty())
    return b.error() << "needs operands of rank 1 or more";
  bool row = left.size() == 1, column = right.size() == 1;
  if (row)
    left.insert(left.begin(), 1);
  if (column)
    right.push_back(1);

  // A batch of matrices times one matrix is one tall matrix times it, which makes the gradient of
  // that matrix one product too.
  bool tall = right.size() == 2 && left.size() > 2;
  if (tall)
    left = {*elementCount(ArrayRef(left).drop_back()), left.back()};
  Value product = matmul(b, b.reshape(lhs, left), b.reshape(rhs, right));
  if (!product)
    return failure();

  SmallVector<int64_t> sizes(sizesOf(product));
  if (tall) {
    SmallVector<int64_t> unflattened(sizesOf(lhs).drop_back());
    unflattened.push_back(sizes.back());
    sizes = unflattened;
  }
  if (column)
    sizes.pop_back();
  if (row)
    sizes.erase(sizes.end() - (column ? 1 : 2));
  return b.bind(0, b.reshape(product, sizes));
}

/// alpha op(A) op(B) + beta C, with C broadcast to the product. A zero beta means that C is not
/// read, as in BLAS. The sum is part of the product, in precision too.
LogicalResult gemm(OpBinder &b) {
  FailureOr<SmallVector<Value>> operands = b.numbers();
  if (failed(operands))
    return failure();
  Value lhs = (*operands)[0], rhs = (*operands)[1];
  if (!isa<FloatType>(getElementTypeOrSelf(lhs)))
    return b.error() << "multiplies integer matrices, which is not supported";
  if (sizesOf(lhs).size() != 2 || sizesOf(rhs).size() != 2)
    return b.error() << "needs operands of rank 2, not " << lhs.getType() << " and "
                     << rhs.getType();
  Value result = matmul(b, lhs, rhs, b.integer("transA", 0), b.integer("transB", 0));
  auto scaled = [&](Value x, double factor) {
    return !x || factor == 1 ? x : b.create<train::MulOp>({x, b.scalar(x, factor)});
  };
  result = scaled(result, b.number("alpha", 1.0));
  double beta = b.number("beta", 1.0);
  if (!result || operands->size() < 3 || beta == 0)
    return b.bind(0, result);

  SmallVector<int64_t> sizes(sizesOf(result));
  Value sum = addBias(b, result, scaled((*operands)[2], beta));
  if (sum && sizesOf(sum) != ArrayRef(sizes))
    return b.error() << "its third operand, " << (*operands)[2].getType()
                     << ", does not broadcast to the product, " << result.getType();
  return b.bind(0, sum);
}

const ImportRule rules[] = {
    {"Gemm", 7, gemm, RuleCategory::Low},
    {"MatMul", 1, matmulNode, RuleCategory::Low},
};

} // namespace

ArrayRef<ImportRule> contractionRules() { return rules; }

Value addBias(OpBinder &b, Value x, Value bias) {
  Value sum = b.create<train::AddOp>({x, bias});
  if (sum)
    train::setCategory(sum.getDefiningOp(), train::Precision::Low);
  return sum;
}

} // namespace halfstep

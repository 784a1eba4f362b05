//===- BiasedProduct.cpp - Products that an addition finishes -------------===//

#include "passes/BiasedProduct.h"
#include "passes/Access.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

/// The one reader of `matmul`, through movement ops; null if there are several or none.
static Operation *onlyReader(MatmulOp matmul) {
  Operation *op = matmul;
  do {
    if (!op->hasOneUse())
      return nullptr;
    op = *op->user_begin();
  } while (isMovement(op));
  return op;
}

/// Whether `value` is in memory as a vector of `columns` and the same for each row.
static bool isBias(Value value, int64_t columns) {
  Access access = resolve(value);
  if (isComputedByReaders(value) || access.root.getDefiningOp<IotaOp>())
    return false;
  if (!isAligned(access, typeOf(value)))
    return false;
  if (columns == 1)
    return llvm::all_of(access.strides, [](int64_t stride) { return stride == 0; });
  return !access.strides.empty() && access.strides.back() == 1 &&
         llvm::all_of(ArrayRef(access.strides).drop_back(),
                      [](int64_t stride) { return stride == 0; });
}

std::optional<BiasedProduct> halfstep::biasedProduct(Operation *op) {
  auto add = dyn_cast<AddOp>(op);
  if (!add)
    return std::nullopt;
  RankedTensorType type = typeOf(add->getResult(0));
  Type element = type.getElementType();
  if ((element.isF16() || element.isBF16()) && categoryOf(add) != Precision::Low)
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    Value product = add->getOperand(i), bias = add->getOperand(1 - i);
    Access access = resolve(product);
    auto matmul = access.root.getDefiningOp<MatmulOp>();
    if (!matmul || onlyReader(matmul) != op || product.getType() != type ||
        !isContiguous(access, type.getShape()))
      continue;
    int64_t columns = typeOf(matmul.getY()).getShape().back();
    if (type.getShape().back() == columns && isBias(bias, columns))
      return BiasedProduct{matmul, bias};
  }
  return std::nullopt;
}

bool halfstep::isFinishedByReader(MatmulOp matmul) {
  Operation *reader = onlyReader(matmul);
  auto product = reader ? biasedProduct(reader) : std::nullopt;
  return product && product->matmul == matmul;
}

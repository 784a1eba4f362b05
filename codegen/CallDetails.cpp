//===- CallDetails.cpp - the details of library calls --------------------------------------===//
//
// Members in the order that runtime/step_abi.h has them in.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CallDetails.h"
#include "ir/Shape.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;
using llvm::Constant;

std::optional<hs_type> halfstep::codegen::storageTypeOf(Type type) {
  if (type.isF32())
    return HS_F32;
  if (type.isF64())
    return HS_F64;
  if (type.isF16())
    return HS_F16;
  if (type.isBF16())
    return HS_BF16;
  if (type.isInteger(1))
    return HS_BOOL;
  if (type.isUnsignedInteger(8))
    return HS_U8;
  if (type.isSignlessInteger(8))
    return HS_I8;
  if (type.isSignlessInteger(32))
    return HS_I32;
  if (type.isSignlessInteger(64))
    return HS_I64;
  return std::nullopt;
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
/// The members of a struct, one after the other.
class Members {
public:
  explicit Members(ConstantWriter &c) : c(c) {}

  void number(uint32_t value) { constants.push_back(c.u32(value)); }
  void numbers(ArrayRef<int64_t> values) {
    for (int64_t value : values)
      constants.push_back(c.i64(value));
  }
  /// One number for each of three spatial dimensions; those that an op lacks come first.
  void spatial(ArrayRef<int64_t> values, int64_t missing) {
    SmallVector<int64_t> three(3 - values.size(), missing);
    three.append(values.begin(), values.end());
    numbers(three);
  }
  void window(ArrayRef<int64_t> kernel, const train::Sliding &sliding, RankedTensorType x,
              RankedTensorType y) {
    spatial(kernel, 1);
    spatial(sliding.strides, 1);
    spatial(sliding.dilations, 1);
    spatial(sliding.pads.take_front(kernel.size()), 0);
    spatial(train::spatialSizes(x, sliding.channelsLast), 1);
    spatial(train::spatialSizes(y, sliding.channelsLast), 1);
  }
  LogicalResult types(Operation *op, TypeRange tensors) {
    for (Type type : tensors) {
      std::optional<hs_type> element = storageTypeOf(getElementTypeOrSelf(type));
      if (!element)
        return op->emitOpError("has no storage type for ") << type;
      number(*element);
    }
    return success();
  }
  Constant *address() { return c.address(c.structure(constants)); }

private:
  ConstantWriter &c;
  SmallVector<Constant *> constants;
};
} // namespace

FailureOr<Constant *> halfstep::codegen::detailOf(table::GemmOp op, ConstantWriter &c) {
  RankedTensorType a = typeOf(op.getA()), b = typeOf(op.getB()), result = typeOf(op.getC());
  auto rows = [](RankedTensorType type) { return type.getDimSize(type.getRank() - 2); };
  auto columns = [](RankedTensorType type) { return type.getDimSize(type.getRank() - 1); };
  if (a.getRank() < 2 || b.getRank() < 2 || result.getRank() < 2)
    return op.emitOpError("needs matrices");
  int64_t m = rows(result), n = columns(result), k = op.getTransA() ? rows(a) : columns(a);
  int64_t batch = result.getNumElements() / (m * n);
  auto stride = [&](RankedTensorType type) -> FailureOr<int64_t> {
    int64_t size = rows(type) * columns(type), matrices = type.getNumElements() / size;
    if (matrices != 1 && matrices != batch)
      return op.emitOpError("repeats an operand along some of the batch dimensions only");
    return matrices == 1 ? 0 : size;
  };
  FailureOr<int64_t> aStride = stride(a), bStride = stride(b);
  Members members(c);
  if (failed(aStride) || failed(bStride) || failed(members.types(op, {a, b, result})))
    return failure();
  members.number(op.getTransA());
  members.number(op.getTransB());
  members.number(bool(op.getBias()));
  members.numbers({batch, m, n, k, *aStride, *bStride, m * n, columns(a), columns(b), n});
  return members.address();
}

FailureOr<Constant *> halfstep::codegen::detailOf(table::ConvOp op, ConstantWriter &c) {
  auto [x, w, y] = op.getConvolution();
  bool isLast = op.getChannelsLast();
  int64_t groups = op.getGroups(), outputs = w.getDimSize(0) / groups;
  int64_t inputs = w.getDimSize(isLast ? w.getRank() - 1 : 1);
  bool isPartial = op.getKind() == table::ConvKind::WeightGradient;
  Members members(c);
  members.number(uint32_t(op.getKind()));
  if (failed(members.types(op, {op.getA().getType(), op.getB().getType(), op.getC().getType()})))
    return failure();
  members.number(isLast);
  members.numbers({x.getDimSize(0), groups, inputs, outputs});
  members.numbers({isPartial ? typeOf(op.getC()).getDimSize(0) : 1});
  members.window(train::spatialSizes(w, isLast), train::slidingOf(op), x, y);
  return members.address();
}

FailureOr<Constant *> halfstep::codegen::detailOf(table::PoolOp op, ConstantWriter &c) {
  auto [x, y] = op.getPooling();
  ArrayRef<int64_t> kernel = op.getKernel(), counted = op.getCountedPads();
  Members members(c);
  members.number(uint32_t(op.getKind()));
  if (failed(members.types(op, {x})))
    return failure();
  members.number(op.getChannelsLast());
  members.numbers({x.getDimSize(0), x.getDimSize(op.getChannelsLast() ? x.getRank() - 1 : 1)});
  members.window(kernel, train::slidingOf(op), x, y);
  members.spatial(counted.take_front(kernel.size()), 0);
  members.spatial(counted.drop_front(kernel.size()), 0);
  return members.address();
}

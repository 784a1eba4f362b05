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

std::string halfstep::codegen::callName(Operation &call) {
  if (auto conv = dyn_cast<table::ConvOp>(call))
    return "conv_" + table::stringifyConvKind(conv.getKind()).str();
  if (auto pool = dyn_cast<table::PoolOp>(call))
    return "pool_" + table::stringifyPoolKind(pool.getKind()).str();
  return call.getName().stripDialect().str();
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
  void window(const hs_window &window) {
    for (const auto &numbersOf :
         {window.kernel, window.stride, window.dilation, window.pad, window.input, window.output})
      numbers({numbersOf, 3});
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

//===---------------------------------------------------------------------------------------===//
// Windows
//===---------------------------------------------------------------------------------------===//

/// One number for each of three spatial dimensions; those that an op lacks come first.
static void setSpatial(int64_t (&three)[3], ArrayRef<int64_t> values, int64_t missing) {
  std::fill(std::begin(three), std::end(three), missing);
  llvm::copy(values, std::end(three) - values.size());
}

static hs_window windowOf(ArrayRef<int64_t> kernel, const train::Sliding &sliding,
                          RankedTensorType x, RankedTensorType y) {
  hs_window window;
  setSpatial(window.kernel, kernel, 1);
  setSpatial(window.stride, sliding.strides, 1);
  setSpatial(window.dilation, sliding.dilations, 1);
  setSpatial(window.pad, sliding.pads.take_front(kernel.size()), 0);
  setSpatial(window.input, train::spatialSizes(x, sliding.channelsLast), 1);
  setSpatial(window.output, train::spatialSizes(y, sliding.channelsLast), 1);
  return window;
}

static LogicalResult setType(Operation *op, Type tensor, uint32_t &type) {
  std::optional<hs_type> element = storageTypeOf(getElementTypeOrSelf(tensor));
  if (!element)
    return op->emitOpError("has no storage type for ") << tensor;
  type = *element;
  return success();
}

FailureOr<hs_conv> halfstep::codegen::describe(table::ConvOp op) {
  auto [x, w, y] = op.getConvolution();
  bool isPartial = op.getKind() == table::ConvKind::WeightGradient;
  hs_conv conv;
  conv.kind = uint32_t(op.getKind());
  if (failed(setType(op, op.getA().getType(), conv.a_type)) ||
      failed(setType(op, op.getB().getType(), conv.b_type)) ||
      failed(setType(op, op.getC().getType(), conv.c_type)))
    return failure();
  conv.channels_last = op.getChannelsLast();
  conv.batch = x.getDimSize(0);
  conv.groups = op.getGroups();
  conv.input_channels = w.getDimSize(conv.channels_last ? w.getRank() - 1 : 1);
  conv.output_channels = w.getDimSize(0) / conv.groups;
  conv.parts = isPartial ? typeOf(op.getC()).getDimSize(0) : 1;
  conv.window = windowOf(train::spatialSizes(w, conv.channels_last), train::slidingOf(op), x, y);
  return conv;
}

FailureOr<hs_pool> halfstep::codegen::describe(table::PoolOp op) {
  auto [x, y] = op.getPooling();
  ArrayRef<int64_t> kernel = op.getKernel(), counted = op.getCountedPads();
  hs_pool pool;
  pool.kind = uint32_t(op.getKind());
  if (failed(setType(op, x, pool.type)))
    return failure();
  pool.channels_last = op.getChannelsLast();
  pool.batch = x.getDimSize(0);
  pool.channels = x.getDimSize(pool.channels_last ? x.getRank() - 1 : 1);
  pool.window = windowOf(kernel, train::slidingOf(op), x, y);
  setSpatial(pool.counted_front, counted.take_front(kernel.size()), 0);
  setSpatial(pool.counted_behind, counted.drop_front(kernel.size()), 0);
  return pool;
}

FailureOr<Constant *> halfstep::codegen::detailOf(table::ConvOp op, ConstantWriter &c) {
  FailureOr<hs_conv> conv = describe(op);
  if (failed(conv))
    return failure();
  Members members(c);
  for (uint32_t number :
       {conv->kind, conv->a_type, conv->b_type, conv->c_type, conv->channels_last})
    members.number(number);
  members.numbers(
      {conv->batch, conv->groups, conv->input_channels, conv->output_channels, conv->parts});
  members.window(conv->window);
  return members.address();
}

FailureOr<Constant *> halfstep::codegen::detailOf(table::PoolOp op, ConstantWriter &c) {
  FailureOr<hs_pool> pool = describe(op);
  if (failed(pool))
    return failure();
  Members members(c);
  for (uint32_t number : {pool->kind, pool->type, pool->channels_last})
    members.number(number);
  members.numbers({pool->batch, pool->channels});
  members.window(pool->window);
  members.numbers(pool->counted_front);
  members.numbers(pool->counted_behind);
  return members.address();
}

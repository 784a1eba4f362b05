//===- CallDetails.cpp - What the runtime is told of a library call -------===//

#include "passes/CallDetails.h"
#include "ir/Shape.h"
#include "runtime/Scratch.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace halfstep;

std::optional<hs_type> halfstep::storageTypeOf(Type type) {
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

std::string halfstep::callName(Operation &call) {
  if (auto conv = dyn_cast<table::ConvOp>(call))
    return "conv_" + table::stringifyConvKind(conv.getKind()).str();
  if (auto pool = dyn_cast<table::PoolOp>(call))
    return "pool_" + table::stringifyPoolKind(pool.getKind()).str();
  return call.getName().stripDialect().str();
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Writes one number for each of three spatial dimensions; those that an op lacks come first.
static void writeSpatial(ArrayRef<int64_t> values, int64_t missing, int64_t (&target)[3]) {
  std::fill_n(target, 3 - values.size(), missing);
  llvm::copy(values, std::end(target) - values.size());
}

static hs_window windowOf(ArrayRef<int64_t> kernel, const train::Sliding &sliding,
                          RankedTensorType x, RankedTensorType y) {
  hs_window window;
  writeSpatial(kernel, 1, window.kernel);
  writeSpatial(sliding.strides, 1, window.stride);
  writeSpatial(sliding.dilations, 1, window.dilation);
  writeSpatial(sliding.pads.take_front(kernel.size()), 0, window.pad);
  writeSpatial(train::spatialSizes(x, sliding.channelsLast), 1, window.input);
  writeSpatial(train::spatialSizes(y, sliding.channelsLast), 1, window.output);
  return window;
}

static LogicalResult writeType(Operation *op, Type tensor, uint32_t &target) {
  std::optional<hs_type> type = storageTypeOf(getElementTypeOrSelf(tensor));
  if (!type)
    return op->emitOpError("has no storage type for ") << tensor;
  target = *type;
  return success();
}

FailureOr<hs_gemm> halfstep::describe(table::GemmOp op) {
  RankedTensorType a = typeOf(op.getA()), b = typeOf(op.getB()), c = typeOf(op.getC());
  auto rows = [](RankedTensorType type) { return type.getDimSize(type.getRank() - 2); };
  auto columns = [](RankedTensorType type) { return type.getDimSize(type.getRank() - 1); };
  if (a.getRank() < 2 || b.getRank() < 2 || c.getRank() < 2)
    return op.emitOpError("needs matrices");
  hs_gemm gemm{};
  if (failed(writeType(op, a, gemm.a_type)) || failed(writeType(op, b, gemm.b_type)) ||
      failed(writeType(op, c, gemm.c_type)))
    return failure();
  gemm.transpose_a = op.getTransA();
  gemm.transpose_b = op.getTransB();
  gemm.has_bias = bool(op.getBias());
  gemm.m = rows(c), gemm.n = columns(c), gemm.k = op.getTransA() ? rows(a) : columns(a);
  gemm.batch = c.getNumElements() / (gemm.m * gemm.n);
  for (auto [type, stride] : {std::pair(a, &gemm.a_stride), std::pair(b, &gemm.b_stride)}) {
    int64_t size = rows(type) * columns(type), matrices = type.getNumElements() / size;
    if (matrices != 1 && matrices != gemm.batch)
      return op.emitOpError("repeats an operand along some of the batch dimensions only");
    *stride = matrices == 1 ? 0 : size;
  }
  gemm.c_stride = gemm.m * gemm.n;
  gemm.lda = columns(a), gemm.ldb = columns(b), gemm.ldc = gemm.n;
  return gemm;
}

FailureOr<hs_conv> halfstep::describe(table::ConvOp op) {
  auto [x, w, y] = op.getConvolution();
  bool isLast = op.getChannelsLast();
  hs_conv conv{};
  conv.kind = uint32_t(op.getKind());
  if (failed(writeType(op, op.getA().getType(), conv.a_type)) ||
      failed(writeType(op, op.getB().getType(), conv.b_type)) ||
      failed(writeType(op, op.getC().getType(), conv.c_type)))
    return failure();
  conv.channels_last = isLast;
  conv.batch = x.getDimSize(0);
  conv.groups = op.getGroups();
  conv.input_channels = w.getDimSize(isLast ? w.getRank() - 1 : 1);
  conv.output_channels = w.getDimSize(0) / conv.groups;
  bool isPartial = op.getKind() == table::ConvKind::WeightGradient;
  conv.parts = isPartial ? typeOf(op.getC()).getDimSize(0) : 1;
  conv.window = windowOf(train::spatialSizes(w, isLast), train::slidingOf(op), x, y);
  return conv;
}

FailureOr<hs_conv> halfstep::describe(table::FusedConvOp op) {
  auto [x, w, y] = op.getConvolution();
  bool isLast = op.getChannelsLast();
  hs_conv conv{};
  conv.kind = HS_CONV_FORWARD;
  if (failed(writeType(op, x, conv.a_type)) || failed(writeType(op, w, conv.b_type)) ||
      failed(writeType(op, y, conv.c_type)))
    return failure();
  conv.channels_last = isLast;
  conv.batch = x.getDimSize(0);
  conv.groups = 1;
  conv.input_channels = w.getDimSize(isLast ? w.getRank() - 1 : 1);
  conv.output_channels = w.getDimSize(0);
  conv.parts = op.getDw() ? typeOf(op.getDw()).getDimSize(0) : 1;
  conv.window = windowOf(train::spatialSizes(w, isLast), train::slidingOf(op), x, y);
  return conv;
}

FailureOr<hs_pool> halfstep::describe(table::PoolOp op) {
  auto [x, y] = op.getPooling();
  ArrayRef<int64_t> kernel = op.getKernel(), counted = op.getCountedPads();
  hs_pool pool{};
  pool.kind = uint32_t(op.getKind());
  if (failed(writeType(op, x, pool.type)))
    return failure();
  pool.channels_last = op.getChannelsLast();
  pool.batch = x.getDimSize(0);
  pool.channels = x.getDimSize(op.getChannelsLast() ? x.getRank() - 1 : 1);
  pool.window = windowOf(kernel, train::slidingOf(op), x, y);
  writeSpatial(counted.take_front(kernel.size()), 0, pool.counted_front);
  writeSpatial(counted.drop_front(kernel.size()), 0, pool.counted_behind);
  return pool;
}

FailureOr<uint64_t> halfstep::scratchBytesOf(Operation *entry) {
  auto bytesOf = [](hs_entry_kind kind, auto detail) -> FailureOr<uint64_t> {
    if (failed(detail))
      return failure();
    return runtime::scratchBytes(kind, &*detail);
  };
  FailureOr<uint64_t> bytes =
      TypeSwitch<Operation *, FailureOr<uint64_t>>(entry)
          .Case([&](table::GemmOp op) { return bytesOf(HS_GEMM, describe(op)); })
          .Case([&](table::ConvOp op) { return bytesOf(HS_CONV, describe(op)); })
          .Case([&](table::PoolOp op) { return bytesOf(HS_POOL, describe(op)); })
          .Default([](Operation *) { return uint64_t(0); });
  if (succeeded(bytes) && *bytes > runtime::mostScratchBytes)
    return entry->emitOpError("needs ")
           << *bytes << " bytes of scratch memory of each thread, of which there are "
           << runtime::mostScratchBytes << "; a window of fewer points needs less";
  return bytes;
}

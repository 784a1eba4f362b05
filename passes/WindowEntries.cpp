//===- WindowEntries.cpp - Convolution and pooling as table entries -------===//

#include "passes/WindowEntries.h"
#include "ir/TrainDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;
using table::ConvKind;
using table::PoolKind;

/// How many partial sums a weight gradient is computed in: enough for many threads where there is
/// much to add up, as the runtime can share out channels too; few where they would take memory.
static int64_t partsOf(ConvWeightGradientOp op) {
  constexpr int64_t mostParts = 16, mostElements = 1 << 24;
  constexpr int64_t worthwhile = 1 << 22; // multiply-adds: about 80 microseconds of one core
  RankedTensorType dy = typeOf(op.getDy()), w = typeOf(op.getY());
  int64_t additions = dy.getNumElements() / w.getDimSize(0); // of products, per element of w
  int64_t parts = std::min(additions, additions * w.getNumElements() / worthwhile);
  parts = std::min({parts, mostParts, mostElements / w.getNumElements()});
  return std::max<int64_t>(1, parts);
}

template <typename Op>
static Value createConv(OpBuilder &b, Op op, ValueRange operands, ConvKind kind, Type result) {
  return b.create<table::ConvOp>(op.getLoc(), result, kind, operands[0], operands[1],
                                 op.getStrides(), op.getDilations(), op.getPads(), op.getGroups(),
                                 op.getChannelsLast(), ArrayAttr());
}

template <typename Op>
static Value createPool(OpBuilder &b, Op op, ValueRange operands, PoolKind kind,
                        ArrayRef<int64_t> countedPads) {
  return b.create<table::PoolOp>(op.getLoc(), op.getType(), kind, operands, op.getKernel(),
                                 op.getStrides(), op.getDilations(), op.getPads(), countedPads,
                                 op.getChannelsLast(), ArrayAttr());
}

Value halfstep::createWindowEntry(OpBuilder &b, Operation *op, ValueRange operands) {
  auto none = [](auto pool) { return SmallVector<int64_t>(pool.getPads().size(), 0); };
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](ConvOp conv) {
        return createConv(b, conv, operands, ConvKind::Forward, conv.getType());
      })
      .Case([&](ConvInputGradientOp conv) {
        return createConv(b, conv, operands, ConvKind::InputGradient, conv.getType());
      })
      .Case([&](ConvWeightGradientOp conv) {
        RankedTensorType w = typeOf(conv.getY());
        SmallVector<int64_t> sizes(w.getShape());
        sizes.insert(sizes.begin(), partsOf(conv));
        auto type = RankedTensorType::get(sizes, computeType(w.getElementType()));
        return createConv(b, conv, operands, ConvKind::WeightGradient, type);
      })
      .Case(
          [&](MaxPoolOp pool) { return createPool(b, pool, operands, PoolKind::Max, none(pool)); })
      .Case([&](MaxPoolGradientOp pool) {
        return createPool(b, pool, operands, PoolKind::MaxGradient, none(pool));
      })
      .Case([&](AveragePoolOp pool) {
        return createPool(b, pool, operands, PoolKind::Average, pool.getCountedPads());
      })
      .Case([&](AveragePoolGradientOp pool) {
        return createPool(b, pool, operands, PoolKind::AverageGradient, pool.getCountedPads());
      })
      .Default(Value());
}

//===- TableDialect.cpp - What a step does, in order ----------------------===//

#include "ir/TableDialect.h"
#include "ir/KernelDialect.h"
#include "ir/Shape.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::table;

#include "ir/TableDialect.cpp.inc"
#include "ir/TableEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TableAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/TableOps.cpp.inc"

void TableDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/TableAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/TableOps.cpp.inc"
      >();
}

uint64_t halfstep::table::storageBytes(RankedTensorType type) {
  return uint64_t(type.getNumElements()) * std::max(1u, type.getElementTypeBitWidth() / 8);
}

bool halfstep::table::isWorkspace(Value value) {
  auto gemm = value.getDefiningOp<GemmOp>();
  return gemm && value == gemm.getWorkspace();
}

Bounds halfstep::table::boundsOf(Range range) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const double aboveZero = std::nextafter(0.0, 1.0), aboveOne = std::nextafter(1.0, 2.0),
               belowOne = std::nextafter(1.0, 0.0);
  switch (range) {
  case Range::NonNegative:
    return {0, kMost, "must not be negative"};
  case Range::LossScale: // it and its inverse are numbers of f32
    return {0x1p-126, 0x1p127, "must be from 2^-126 to 2^127"};
  case Range::AtLeastOne:
    return {1, kMost, "must be at least 1"};
  case Range::AboveOne:
    return {aboveOne, kMost, "must be above 1"};
  case Range::BelowOne:
    return {0, belowOne, "must be from 0 to below 1"};
  case Range::Fraction:
    return {aboveZero, belowOne, "must lie between 0 and 1"};
  }
  llvm_unreachable("range");
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom(*this, getKernelAttr()))
    return emitOpError("refers to an unknown kernel ") << getKernelAttr();
  return success();
}

LogicalResult LaunchOp::verify() {
  if (!getUpdates())
    return success();
  if (getUpdates()->size() != getNumResults())
    return emitOpError("updates one operand or -1 for each result");
  for (auto [result, operand] : llvm::zip(getOutputs(), *getUpdates()))
    if (operand < -1 || operand >= getNumOperands() ||
        (operand >= 0 && getInputs()[operand].getType() != result.getType()))
      return emitOpError("cannot update operand ") << operand << " to " << result.getType();
  return success();
}

LogicalResult GemmOp::verify() {
  auto c = cast<RankedTensorType>(getC().getType());
  if (getBias() && (c.getRank() == 0 || getBias().getType() != c.clone(c.getShape().take_back())))
    return emitOpError("needs a bias with an element for each column, not ") << getBias().getType();
  if (getWorkspace() &&
      !cast<RankedTensorType>(getWorkspace().getType()).getElementType().isInteger(8))
    return emitOpError("needs a workspace of bytes, not of ") << getWorkspace().getType();
  if (getWorkspace() && !getWorkspace().use_empty())
    return emitOpError("has a workspace that is read");
  return success();
}

std::array<RankedTensorType, 3> table::ConvOp::getConvolution() {
  auto a = cast<RankedTensorType>(getA().getType()), b = cast<RankedTensorType>(getB().getType()),
       c = cast<RankedTensorType>(getC().getType());
  switch (getKind()) {
  case ConvKind::Forward:
    return {a, b, c};
  case ConvKind::InputGradient:
    return {c, b, a};
  case ConvKind::WeightGradient:
    return {b, c.clone(c.getShape().drop_front()), a};
  }
  llvm_unreachable("kind of convolution");
}

LogicalResult table::ConvOp::verify() {
  if (getKind() == ConvKind::WeightGradient && getC().getType().getRank() < 1)
    return emitOpError("needs a dimension of parts");
  auto [x, w, y] = getConvolution();
  auto expected = train::ShapeBuilder(getLoc(), getOperationName())
                      .convolution(x, w, train::slidingOf(*this), getGroups());
  if (failed(expected))
    return failure();
  return ArrayRef(*expected) == y.getShape() ? success()
                                             : emitOpError("has a y of another shape: ") << y;
}

std::array<RankedTensorType, 3> FusedConvOp::getConvolution() {
  auto x = cast<RankedTensorType>(getX().getType()), w = cast<RankedTensorType>(getW().getType());
  auto y = train::ShapeBuilder(getLoc(), getOperationName())
               .convolution(x, w, train::slidingOf(*this), /*groups=*/1);
  return {x, w, succeeded(y) ? x.clone(*y) : RankedTensorType()};
}

LogicalResult FusedConvOp::verify() {
  auto [x, w, y] = getConvolution();
  if (!y)
    return failure();
  if (!getDw())
    return success();
  auto dw = cast<RankedTensorType>(getDw().getType());
  if (dw.getRank() != w.getRank() + 1 || dw.getShape().drop_front() != w.getShape() ||
      !dw.getElementType().isF32())
    return emitOpError("needs parts of a gradient in f32, not ") << dw;
  return success();
}

LogicalResult FusedConvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto group = symbols.lookupNearestSymbolFrom<kernel::GroupOp>(*this, getKernelAttr());
  if (!group)
    return emitOpError("refers to an unknown group ") << getKernelAttr();
  RankedTensorType y = getConvolution()[2];
  int64_t images = y.getDimSize(0), channels = y.getDimSize(getChannelsLast() ? y.getRank() - 1 : 1),
          positions = y.getNumElements() / (images * channels);
  if (group.getSpace() != ArrayRef({images, positions, channels}) ||
      group.getReducedDimension() != 1)
    return emitOpError("needs a group that reduces over the positions of ") << y;
  unsigned arguments = group.getBlock().getNumArguments(), results = group.getOuts().size();
  if (arguments != getInputs().size() + 1 || results != getOutputs().size() + bool(getDw()))
    return emitOpError("has another number of values than its group");
  int64_t image = images > 1 ? positions * channels : 0;
  SmallVector<int64_t> strides{image, 1, positions};
  if (getChannelsLast())
    strides = {image, channels, 1};
  SmallVector<unsigned> outputs{0};
  if (getDw())
    outputs.push_back(arguments + results - 1);
  for (unsigned buffer : outputs)
    if (group.getStorageType(buffer) != y.getElementType() || group.getBufferOffset(buffer) ||
        group.getBufferStrides(buffer) != ArrayRef(strides))
      return emitOpError("has a group that does not walk ") << y << " as it is in memory";
  return success();
}

std::array<RankedTensorType, 2> PoolOp::getPooling() {
  auto first = cast<RankedTensorType>(getInputs()[0].getType()),
       last = cast<RankedTensorType>(getOutput().getType());
  switch (getKind()) {
  case PoolKind::Max:
  case PoolKind::Average:
    return {first, last};
  case PoolKind::MaxGradient:
  case PoolKind::AverageGradient:
    return {last, cast<RankedTensorType>(getInputs().back().getType())};
  }
  llvm_unreachable("kind of pooling");
}

LogicalResult PoolOp::verify() {
  bool needsBoth = getKind() == PoolKind::MaxGradient;
  if (getInputs().size() != (needsBoth ? 2 : 1))
    return emitOpError("needs ") << (needsBoth ? "x and dy" : "one operand");
  auto [x, y] = getPooling();
  auto expected = train::ShapeBuilder(getLoc(), getOperationName())
                      .averagePool(x, getKernel(), train::slidingOf(*this), getCountedPads());
  if (failed(expected))
    return failure();
  if (ArrayRef(*expected) != y.getShape())
    return emitOpError("has a y of another shape: ") << y;
  if (needsBoth && getInputs()[0].getType() != getOutput().getType())
    return emitOpError("computes an adjoint of another shape than x");
  return success();
}

LogicalResult AliasOp::verify() {
  auto from = cast<RankedTensorType>(getSource().getType());
  auto to = cast<RankedTensorType>(getView().getType());
  int64_t end;
  if (from.getElementType() != to.getElementType() || getOffset() < 0 ||
      llvm::AddOverflow<int64_t>(getOffset(), to.getNumElements(), end) ||
      end > from.getNumElements())
    return emitOpError("must keep the element type and lie within its source");
  return success();
}

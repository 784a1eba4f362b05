//===- KernelVerifiers.cpp - What kernels are well formed ----------------------------------===//
//
// A group is verified as a whole once its body is: what its results may look like depends on which
// dimensions their values vary along, and that on the loads, indices and reductions before them.
//
//===---------------------------------------------------------------------------------------===//

#include "ir/KernelDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace halfstep::kernel;

LogicalResult GroupOp::verify() {
  size_t rank = getSpace().size();
  if (rank == 0 || rank > 64)
    return emitOpError("needs 1 to 64 dimensions");
  if (llvm::any_of(getSpace(), [](int64_t size) { return size < 1; }))
    return emitOpError("has a dimension of size less than 1");
  if (getStrides().size() != getNumBuffers())
    return emitOpError("has ") << getNumBuffers() << " storage types but strides for "
                               << getStrides().size() << " buffers";
  if (getOffsets().size() != getNumBuffers())
    return emitOpError("needs an offset for each of ") << getNumBuffers() << " buffers";
  for (unsigned i = 0; i < getNumBuffers(); ++i) {
    if (!computeType(getStorageType(i)))
      return emitOpError("buffer ") << i << ": " << getStorageType(i) << " is not a storage type";
    auto strides = dyn_cast<DenseI64ArrayAttr>(getStrides()[i]);
    if (!strides || strides.size() != int64_t(rank))
      return emitOpError("buffer ") << i << ": expected " << rank << " strides, one a dimension";
    if (boundsOf(getSpace(), strides, getBufferOffset(i)).first < 0)
      return emitOpError("buffer ") << i << ": is walked to in front of its first element";
  }
  return success();
}

/// Checks that result `out`, to which `value` is yielded, is written at most once an element, and
/// that a dimension without a stride is a reduced one along which the value does not vary.
static LogicalResult verifyResult(GroupOp group, const ValueAnalysis &analysis, unsigned number,
                                  Value value) {
  int64_t out = group.getOuts()[number], reduced = group.getReducedDimension();
  auto error = [&]() -> InFlightDiagnostic {
    return group.emitOpError("result ") << number << ": ";
  };
  if (value.getType() != computeType(group.getStorageType(out)))
    return error() << "a value of type " << value.getType() << " is yielded to storage "
                   << group.getStorageType(out);
  ArrayRef<int64_t> strides = group.getBufferStrides(out), space = group.getSpace();
  bool isReduced = analysis.phase(value) > 0;
  SmallVector<std::pair<int64_t, int64_t>> extents; // stride and size, of dimensions stepped over
  for (int64_t d = 0; d < int64_t(space.size()); ++d) {
    bool byChunk = group.getPartial() && isReduced && d == reduced;
    if (space[d] == 1 || byChunk)
      continue;
    if (strides[d] == 0) {
      if (analysis.varies(value, d))
        return error() << "has stride 0 in dimension " << d << ", along which its value varies";
      if (d != reduced)
        return error() << "has stride 0 in dimension " << d << ", which is not reduced";
      continue;
    }
    if (isReduced && d == reduced && d + 1 < int64_t(space.size()))
      return error() << "a value reduced over rows cannot be repeated along them";
    extents.push_back({std::abs(strides[d]), space[d]});
  }
  llvm::sort(extents);
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i].first < extents[i - 1].first * extents[i - 1].second)
      return error() << "its strides write an element twice";
  return success();
}

LogicalResult GroupOp::verifyRegions() {
  Block &block = getBlock();
  unsigned arguments = block.getNumArguments();
  if (arguments > getNumBuffers())
    return emitOpError("has more arguments than buffers");
  for (BlockArgument argument : block.getArguments()) {
    Type expected = computeType(getStorageType(argument.getArgNumber()));
    if (argument.getType() != expected)
      return emitOpError("argument ") << argument.getArgNumber() << ": expected compute type "
                                      << expected << ", not " << argument.getType();
  }
  // Outs: arguments updated in place, each once, and the buffers behind the arguments in order.
  llvm::SmallDenseSet<int64_t> updated;
  int64_t next = arguments;
  for (int64_t out : getOuts()) {
    if (out < 0 || out >= int64_t(getNumBuffers()))
      return emitOpError("result buffer ") << out << " is out of range";
    if (out >= int64_t(arguments) ? out != next++ : !updated.insert(out).second)
      return emitOpError("result buffer ") << out << " is repeated or out of order";
  }
  if (next != int64_t(getNumBuffers()))
    return emitOpError("buffer ") << next << " is neither an argument nor a result";

  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("must end with kernel.yield");
  if (yield.getNumOperands() != getOuts().size())
    return emitOpError("has ") << getOuts().size() << " results but yields "
                               << yield.getNumOperands() << " values";
  std::optional<ReduceOver> sort;
  for (Operation &op : block.without_terminator()) {
    Dialect *dialect = op.getDialect();
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect, KernelDialect>(dialect) ||
        op.getNumResults() != 1)
      return op.emitOpError("is not an operation of a kernel's body");
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (sort && *sort != reduce.getOver())
        return reduce.emitOpError("a group has reductions over `last` or over `rows`, not both");
      sort = reduce.getOver();
    }
  }

  ValueAnalysis analysis(*this);
  if (sort == ReduceOver::Rows)
    for (Operation &op : block.without_terminator()) {
      int64_t rows = getReducedDimension();
      if (isa<ReduceOp>(op)
              ? analysis.phase(op.getResult(0)) > 1
              : analysis.phase(op.getResult(0)) > 0 && analysis.varies(op.getResult(0), rows))
        return op.emitOpError("behind a reduction over rows there are column values only");
    }
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (failed(verifyResult(*this, analysis, i, value)))
      return failure();
  return success();
}

LogicalResult ReduceOp::verify() {
  Type type = getType();
  bool isOr = getKind() == ReduceKind::Or;
  if (isOr ? !isa<IntegerType>(type) : type.isInteger(1) || type.isInteger(8))
    return emitOpError() << stringifyReduceKind(getKind()) << " does not take " << type;
  if (getOver() == ReduceOver::Rows && (*this)->getParentOfType<GroupOp>().getSpace().size() < 2)
    return emitOpError("over rows needs a space of two or more dimensions");
  return success();
}

LogicalResult IndexOp::verify() {
  size_t rank = (*this)->getParentOfType<GroupOp>().getSpace().size();
  if (getStrides().size() != rank)
    return emitOpError("has ") << getStrides().size() << " strides for a space of " << rank
                               << " dimensions";
  return success();
}

LogicalResult ContractOp::verify() {
  if (!isa_and_nonnull<FloatType>(computeType(getType())))
    return emitOpError("takes f16, bf16, f32 or f64, not ") << getType();
  if (getSpace().size() != 4)
    return emitOpError("needs the four sizes batch, m, n, k");
  if (llvm::any_of(getSpace(), [](int64_t size) { return size < 1; }))
    return emitOpError("has a size less than 1");
  for (ArrayRef<int64_t> strides : {getAStrides(), getBStrides(), getCStrides()}) {
    if (strides.size() != 3)
      return emitOpError("needs three strides a matrix");
    if (llvm::any_of(strides, [](int64_t stride) { return stride < 0; }))
      return emitOpError("has a negative stride");
  }
  for (int d = 0; d < 3; ++d)
    if (getSpace()[d] > 1 && getCStrides()[d] == 0)
      return emitOpError("c has stride 0 in dimension ") << d;
  return success();
}

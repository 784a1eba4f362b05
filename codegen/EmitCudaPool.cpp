//===- EmitCudaPool.cpp - maxima and means under a sliding window --------------------------===//
//
// A thread computes an element of the result from all that it depends on, in the order in which the
// CPU does. An element of an adjoint is the sum over the windows that read it, in the order of
// their outputs; the place of each one's maximum is looked for again. Sums are f64: a window may be
// a whole image. Where an image has one window, that would be all of it for each of its elements:
// then a thread has an image's channel, looks for the maximum once and writes all of the adjoint.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaWindow.h"
#include "passes/CallDetails.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

namespace {
class PoolEmitter {
public:
  PoolEmitter(CudaBuilder &b, const hs_pool &pool, table::PoolOp op);

  Grid emit(StringRef name);

private:
  bool isMaximum() const { return pool.kind == HS_POOL_MAX || pool.kind == HS_POOL_MAX_GRADIENT; }
  bool isAdjoint() const {
    return pool.kind == HS_POOL_MAX_GRADIENT || pool.kind == HS_POOL_AVERAGE_GRADIENT;
  }
  /// A maximum, and which point of the window it is.
  struct Maximum {
    Value value, place;
  };
  Maximum maximum(const Position &output);
  Value average(const Position &output);
  Value divisor(const Position &output);
  Value adjoint(const Position &input);
  Value adjointOfMean(const Position &input);
  void storeAdjointOfMaximum();

  /// Of the buffer, an input with a point of the window at an output.
  Element inputAt(const Position &output, const Position &point) {
    CudaWindow::Read read = window.inputOf(output, point);
    return {window.offset(x, image, channel, read.at), read.isInside};
  }
  Position origin() {
    Value zero = b.constant(indexType, 0);
    return {zero, zero, zero};
  }
  Element firstOutput() { return {window.offset(y, image, channel, origin()), nullptr}; }
  Value numberOf(const Position &point) {
    const int64_t(&kernel)[3] = pool.window.kernel;
    return b.add(b.mul(b.add(b.mul(point[0], kernel[1]), point[1]), kernel[2]), point[2]);
  }
  Value load(unsigned buffer, const Element &element) {
    return loadElement(b, buffers[buffer], storage, element);
  }
  /// As a term of a sum.
  Value loadTerm(unsigned buffer, const Element &element) {
    Value value = load(buffer, element);
    return value.getType() == sumType ? value : b.create<arith::ExtFOp>(sumType, value);
  }
  Value zero() { return b.create<arith::ConstantOp>(b.getZeroAttr(sumType)); }
  Value select(Value condition, Value x, Value y) {
    return condition ? b.create<arith::SelectOp>(condition, x, y).getResult() : x;
  }

  CudaBuilder &b;
  const hs_pool pool;
  const Type storage, computeType;
  const Type sumType; // f64
  const ImageStrides x, y;
  const Type indexType;
  CudaWindow window;
  SmallVector<Value> buffers;
  Value image, channel;
};
} // namespace

PoolEmitter::PoolEmitter(CudaBuilder &b, const hs_pool &described, table::PoolOp op)
    : b(b), pool(described), storage(getElementTypeOrSelf(op.getOutput())),
      computeType(kernel::computeType(storage)), sumType(b.getF64Type()),
      x(pool.channels, pool.window.input, pool.channels_last),
      y(pool.channels, pool.window.output, pool.channels_last),
      indexType(indexTypeFor(b, described.window, op)), window(b, pool.window, indexType) {}

/// The first maximum under the window, NaN before all numbers; the place of what lies in padding
/// alone is -1.
PoolEmitter::Maximum PoolEmitter::maximum(const Position &output) {
  Maximum none{b.identity(kernel::ReduceKind::Max, computeType, 0), b.constant(indexType, -1)};
  SmallVector<Value> best = window.foldPoints(
      {none.value, none.place}, [&](const Position &point, SmallVector<Value> found) {
        Element element = inputAt(output, point);
        Value value = load(0, element);
        Value isGreater = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, value, found[0]);
        Value isNaN = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
        Value isFirst =
            b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, found[1], b.constant(indexType, 0));
        Value isBetter = b.create<arith::OrIOp>(b.create<arith::OrIOp>(isGreater, isNaN), isFirst);
        isBetter = b.both(isBetter, element.isThere);
        return SmallVector<Value>{select(isBetter, value, found[0]),
                                  select(isBetter, numberOf(point), found[1])};
      });
  return {best[0], best[1]};
}

Value PoolEmitter::average(const Position &output) {
  Value sum = window.foldPoints({zero()}, [&](const Position &point, SmallVector<Value> sums) {
    // What is not there adds a zero, which changes no sum that began with one.
    return SmallVector<Value>{
        b.create<arith::AddFOp>(sums[0], loadTerm(0, inputAt(output, point)))};
  })[0];
  return b.create<arith::DivFOp>(sum, divisor(output));
}

/// How many points an average is over.
Value PoolEmitter::divisor(const Position &output) {
  Value count = b.constant(indexType, 1);
  for (int i = 0; i < 3; ++i)
    count = b.create<arith::MulIOp>(
        count, window.countPoints(i, output[i], pool.counted_front[i], pool.counted_behind[i]));
  Value one = b.constant(indexType, 1);
  return b.create<arith::UIToFPOp>(sumType, b.create<arith::MaxUIOp>(count, one));
}

Value PoolEmitter::adjoint(const Position &input) {
  return window.foldPoints({zero()}, [&](const Position &counter, SmallVector<Value> sums) {
    // Outputs ascend as points descend.
    Position point;
    for (int i = 0; i < 3; ++i)
      point[i] = b.sub(b.constant(indexType, pool.window.kernel[i] - 1), counter[i]);
    CudaWindow::Read output = window.outputOf(input, point);
    Element from{window.offset(y, image, channel, output.at), nullptr};
    auto share = [&]() -> Value {
      if (!isMaximum())
        return b.create<arith::DivFOp>(loadTerm(0, from), divisor(output.at));
      Value isHere = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, maximum(output.at).place,
                                             numberOf(point));
      return select(isHere, loadTerm(1, from), zero());
    };
    return SmallVector<Value>{b.create<arith::AddFOp>(sums[0], b.loadIf(output.isInside, share))};
  })[0];
}

/// Of the only window.
Value PoolEmitter::adjointOfMean(const Position &input) {
  Value isInside = window.pointOf(input).isInside;
  Value share = b.create<arith::DivFOp>(loadTerm(0, firstOutput()), divisor(origin()));
  return b.create<arith::AddFOp>(zero(), select(isInside, share, zero())); // as any sum
}

/// Of the only window of an image's channel.
void PoolEmitter::storeAdjointOfMaximum() {
  Value place = maximum(origin()).place;
  Value none = b.create<arith::ConstantOp>(b.getZeroAttr(computeType));
  Value dy = b.create<arith::AddFOp>(none, load(1, firstOutput())); // as any sum
  b.loop(b.constant(indexType, 0), b.constant(indexType, volumeOf(pool.window.input)), 1,
         [&](Value number) {
           Position input = window.split(number, pool.window.input);
           CudaWindow::Read point = window.pointOf(input);
           Value isHere =
               b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, place, numberOf(point.at));
           Value value = select(b.both(isHere, point.isInside), dy, none);
           Value offset = window.offset(x, image, channel, input);
           b.store(value, b.element(buffers.back(), storage, offset), storage, 0);
         });
}

Grid PoolEmitter::emit(StringRef name) {
  b.beginKernel(name, pool.kind == HS_POOL_MAX_GRADIENT ? 3 : 2, buffers);
  bool hasOneWindow = volumeOf(pool.window.output) == 1;
  bool isOfChannel = hasOneWindow && pool.kind == HS_POOL_MAX_GRADIENT;
  const int64_t(&sizes)[3] = isAdjoint() && !isOfChannel ? pool.window.input : pool.window.output;
  int64_t elements = pool.batch * pool.channels * volumeOf(sizes);
  return b.parallelFor(elements, indexType, [&](Value element) {
    CudaWindow::Place place =
        window.splitElement(element, pool.channels, sizes, pool.channels_last);
    image = place.image;
    channel = place.channel;
    if (isOfChannel)
      return storeAdjointOfMaximum();
    Value value = isAdjoint()   ? (hasOneWindow ? adjointOfMean(place.at) : adjoint(place.at))
                  : isMaximum() ? maximum(place.at).value
                                : average(place.at);
    if (value.getType() != computeType)
      value = b.create<arith::TruncFOp>(computeType, value);
    b.store(value, b.element(buffers.back(), storage, element), storage, 0);
  });
}

FailureOr<Grid> halfstep::codegen::emitCudaKernel(OpBuilder &builder, table::PoolOp op,
                                                  StringRef name) {
  FailureOr<hs_pool> pool = describe(op);
  if (failed(pool))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  CudaBuilder b(op.getLoc(), builder);
  return PoolEmitter(b, *pool, op).emit(name);
}

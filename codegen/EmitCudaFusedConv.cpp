//===- EmitCudaFusedConv.cpp - a convolution with its loss and weight gradient --------------===//
//
// A warp takes 32 positions of an image at a time. Their patches, a row of 64 bytes each, lie in
// shared memory, where two products read them, the second one transposed:
//
//   y [channel, position]   = filters [channel, point] x patches [position, point]
//   dw [channel, point]    += dy [channel, position] x patches [position, point]
//
// Between the two, the group is evaluated on y as it lies in registers: with channels as the rows
// of the first product, two neighbouring sums, rounded, are a register of the second one's left
// factor. A thread has neighbouring channels of its positions, since row (tile, half, g) of the
// products is channel g * (channels of a thread) + tile * 2 + half.
//
// A block takes chunk after chunk of an image's positions: reductions end with a chunk, the weight
// gradient goes on. All loops and sums have the order that the sizes give. Without a gradient, a
// chunk is a block.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaFusedConvEmitter.h"
#include "codegen/CudaTensorCores.h"
#include "passes/CallDetails.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;
using kernel::ReduceOp;

void FusedConvEmitter::begin(StringRef name) {
  SmallVector<Value> given;
  b.beginKernel(name, op->getNumOperands() + op->getNumResults(), given);
  w = given[1];
  if (hasGradient)
    dw = given.back();
  buffers.resize(form.buffers.size());
  for (unsigned i = 1; i + hasGradient < buffers.size(); ++i) {
    buffers[i] = given[op.numberOf(i)];
    if (int64_t offset = form.group.getBufferOffset(i))
      buffers[i] = b.element(buffers[i], form.buffers[i].storage, b.constant(offset));
  }
  indexType = b.indexTypeFor(form.points()); // of y, which is no operand
  if (indexType.isInteger(32))
    indexType = indexTypeFor(b, conv.window, op);
  raw = storage.isF16() ? storage : Type(b.getI16Type());
  thread = b.thread();
  lane = b.remainder(thread, warpLanes);
  column = b.mul(b.remainder(lane, laneColumns), 2);
  Value warp = b.divide(thread, warpLanes);
  team = b.divide(warp, warps / teams);
  firstChannel = b.add(b.mul(b.remainder(warp, warps / teams), warpChannels),
                       b.mul(b.divide(lane, laneColumns), width));
  patches.emplace(b, conv, storage, indexType, /*x=*/given[0], warps, warp, lane);
}

/// The left factor of the first product stays in registers.
void FusedConvEmitter::loadFilters() {
  Value zero = zeroOf(raw);
  auto load = [&](Value channel, Value point) -> Value {
    Value isThere = b.isBelow(point, points);
    Value safe = b.create<arith::SelectOp>(isThere, point, word(0));
    Value at = b.element(w, storage, b.add(b.mul(channel, points), safe));
    return b.create<arith::SelectOp>(isThere, b.loadRaw(at, storage, 0), zero);
  };
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t step = 0; step < depthSteps; ++step) {
      SmallVector<Value> registers;
      for (int64_t i = 0; i < 4; ++i) { // rows in the upper half, then the right half
        Value channel = b.add(firstChannel, 2 * tile + i % 2);
        Value point = b.add(column, step * mmaDepth + i / 2 * 8);
        registers.push_back(pair(load(channel, point), load(channel, b.add(point, 1))));
      }
      filters.push_back(registers);
    }
}

/// The fragments of y at 16 positions: [tile of positions][tile of channels][4].
SmallVector<Value> FusedConvEmitter::multiplyFilters(int64_t firstPosition) {
  SmallVector<Value> y(half / mmaColumns * tiles * 4, zeroOf(b.getF32Type()));
  for (int64_t step = 0; step < depthSteps; ++step) {
    SmallVector<Value> right = patches->load(firstPosition, step * mmaDepth / CudaPatches::chunk,
                                             /*positionsAreDepth=*/false);
    for (int64_t part = 0; part < half / mmaColumns; ++part)
      for (int64_t tile = 0; tile < tiles; ++tile)
        multiplyMatrices(b, storage, filters[tile * depthSteps + step],
                         ArrayRef(right).slice(2 * part, 2),
                         llvm::MutableArrayRef(y).slice((part * tiles + tile) * 4, 4));
  }
  return y;
}

/// dy of the thread's channels at a position, zero if that is not there, in storage; null without
/// a gradient.
Value FusedConvEmitter::evaluate(Value image, Value position, Value end, Value y, Sums &sums) {
  Value isThere = b.isLess(position, end);
  Value safe = b.create<arith::SelectOp>(isThere, position, b.add(end, -1));
  Row row(b, form, buffers, uniform, image, safe);
  row.computeValues(b, 0);
  auto load = [&](KernelBuilder &, unsigned buffer) -> Value {
    const View &view = form.buffers[buffer];
    Value at =
        b.element(row.pointers[buffer], view.storage, b.mul(index(firstChannel), view.inner));
    if (view.inner != 1)
      return b.loadStrided(at, view.storage, width, view.inner);
    SmallVector<int64_t> strides(view.outer);
    strides.append({view.depth, kernel::GroupOp(form.group).getBufferOffset(buffer)});
    return b.load(at, view.storage, width, alignmentFor(view.storage, width, strides));
  };
  codegen::Tile tile(row, index(firstChannel), width, load);
  tile.set(form.group.getBlock().getArgument(0), b.widen(b.narrow(y, storage), storage));
  for (auto [reduce, sum] : llvm::zip(reduces, sums.reduced)) {
    Value value = tile.get(b, reduce.getInput());
    Value none = b.identity(reduce.getKind(), reduce.getType(), width);
    sum = b.combine(reduce.getKind(), sum, b.create<arith::SelectOp>(isThere, value, none));
  }
  if (!hasGradient)
    return Value();
  Value dy = b.narrow(tile.get(b, form.group.getYield().getValues().back()), storage);
  return b.create<arith::SelectOp>(isThere, dy, zeroOf(dy.getType()));
}

/// `dy` holds the vectors of the thread's four positions among 16.
void FusedConvEmitter::addToGradient(int64_t firstPosition, ArrayRef<Value> dy, Sums &sums) {
  SmallVector<SmallVector<Value>> left(tiles);
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t i = 0; i < 4; ++i) {
      Value first = dy[i / 2 * 2], second = dy[i / 2 * 2 + 1];
      int64_t channel = 2 * tile + i % 2;
      left[tile].push_back(b.create<LLVM::BitcastOp>(
          b.getI32Type(), b.shuffle(first, second, {channel, width + channel})));
    }
  for (int64_t columns = 0; columns < columnTiles; columns += 2) {
    SmallVector<Value> right = patches->load(firstPosition, columns, /*positionsAreDepth=*/true);
    for (int64_t second : {0, 1})
      for (int64_t tile = 0; tile < tiles; ++tile)
        multiplyMatrices(
            b, storage, left[tile], ArrayRef(right).slice(2 * second, 2),
            llvm::MutableArrayRef(sums.gradient).slice(((columns + second) * tiles + tile) * 4, 4));
  }
}

/// What the warp does at the 32 positions from `first` on, of those before `end`.
void FusedConvEmitter::addPositions(Value image, Value first, Value end, Sums &sums) {
  Value own = b.add(first, index(lane)), isThere = b.isLess(own, end);
  Value safe = b.create<arith::SelectOp>(isThere, own, b.add(end, -1));
  patches->store(image, safe, isThere);
  for (int64_t begin = 0; begin < warpPositions; begin += half) {
    SmallVector<Value> fragments = multiplyFilters(begin), dy;
    for (int64_t part = 0; part < half / mmaColumns; ++part)
      for (int64_t second : {0, 1}) {
        Value y;
        for (int64_t channel = 0; channel < width; ++channel) {
          Value one = fragments[(part * tiles + channel / 2) * 4 + channel % 2 * 2 + second];
          y = y ? b.create<vector::InsertOp>(one, y, channel).getResult() : b.splat(one, width);
        }
        Value position = b.add(b.add(first, index(column)), begin + part * mmaColumns + second);
        dy.push_back(evaluate(image, position, end, y, sums));
      }
    if (hasGradient)
      addToGradient(begin, dy, sums);
  }
}

/// A chunk of an image's positions; `gradient` is what the block has added up before.
SmallVector<Value> FusedConvEmitter::addChunk(Value unit, SmallVector<Value> gradient) {
  Value image = b.divide(unit, tree.chunks), inImage = b.remainder(unit, tree.chunks);
  Value begin = b.mul(inImage, chunkPositions);
  Value end = b.smaller(b.add(begin, chunkPositions), number(positions));
  size_t fragments = gradient.size();
  SmallVector<Value> carried = std::move(gradient);
  for (ReduceOp reduce : reduces)
    carried.push_back(b.identity(reduce.getKind(), reduce.getType(), width));
  carried = b.fold(begin, end, teams * warpPositions, carried,
                   [&](Value first, SmallVector<Value> values) {
                     Sums sums;
                     sums.gradient.assign(values.begin(), values.begin() + fragments);
                     sums.reduced.assign(values.begin() + fragments, values.end());
                     Value own = b.add(first, index(b.mul(team, warpPositions)));
                     addPositions(image, own, end, sums);
                     values = sums.gradient;
                     values.append(sums.reduced);
                     return values;
                   });
  storeReduced(image, inImage, ArrayRef(carried).drop_front(fragments));
  carried.truncate(fragments);
  return carried;
}

Grid FusedConvEmitter::emit(StringRef name) {
  begin(name);
  uniform = computeUniformValues(b, form, buffers);
  loadFilters();
  const int64_t units = conv.batch * tree.chunks;
  if (!hasGradient) {
    addChunk(index(b.block()), {});
    return {units, threads};
  }
  SmallVector<Value> zeros(columnTiles * tiles * 4, zeroOf(b.getF32Type()));
  storeGradient(b.fold(index(b.block()), number(units), conv.parts, zeros,
                       [&](Value unit, SmallVector<Value> gradient) {
                         return addChunk(unit, std::move(gradient));
                       }));
  return {conv.parts, threads, /*together=*/2}; // with all 255 registers that a thread can have
}

FailureOr<Grid> halfstep::codegen::emitCudaKernel(OpBuilder &builder, table::FusedConvOp op,
                                                  kernel::GroupOp group, StringRef name) {
  FailureOr<hs_conv> conv = describe(op);
  if (failed(conv))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  CudaBuilder b(op.getLoc(), builder);
  return FusedConvEmitter(b, *conv, op, group).emit(name);
}

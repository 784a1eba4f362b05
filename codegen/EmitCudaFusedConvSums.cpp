//===- EmitCudaFusedConvSums.cpp - what a block of a fused convolution adds up --------------===//
//
// Threads of several positions have sums of the same channel, teams of warps have parts of the same
// gradient. They meet in shared memory, and are added up in the order of the threads' numbers.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaFusedConvEmitter.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;
using kernel::ReduceOp;

/// Combines what the threads have reduced of a chunk, which ends here.
void FusedConvEmitter::storeReduced(Value image, Value numberOfChunk, ArrayRef<Value> reduced) {
  const int64_t rows = teams * laneColumns;
  SmallVector<Value> arrays; // [row][channel]
  Value row = b.add(b.mul(team, laneColumns), b.remainder(lane, laneColumns));
  for (auto [reduce, values] : llvm::zip(reduces, reduced)) {
    Type type = ReduceOp(reduce).getType();
    arrays.push_back(b.shared(type, rows * channels));
    Value at = b.element(arrays.back(), type, b.add(b.mul(row, channels), firstChannel));
    b.store(values, at, type, width, alignmentFor(type, width, {}));
  }
  b.barrier();
  b.when(channels < threads ? b.isBelow(thread, channels) : Value(), [&] {
    Row stored(b, form, buffers, uniform, image);
    if (form.group.getPartial())
      stored.advanceDepth(b, numberOfChunk);
    codegen::Tile tile(stored, index(thread), 1);
    for (auto [reduce, array] : llvm::zip(reduces, arrays)) {
      Type type = reduce.getType();
      SmallVector<Value> values;
      for (int64_t i = 0; i < rows; ++i)
        values.push_back(b.load(b.element(array, type, b.add(thread, i * channels)), type, 1));
      for (; values.size() > 1; values.resize(values.size() / 2))
        for (size_t i = 0; i < values.size() / 2; ++i)
          values[i] = b.combine(reduce.getKind(), values[2 * i], values[2 * i + 1]);
      tile.set(reduce.getResult(), values[0]);
    }
    tile.store(b, form.elementStores(1));
  });
  b.barrier(); // the arrays are written again for the next chunk
}

/// Adds up the teams' fragments, team after team, and stores the block's part of the gradient.
void FusedConvEmitter::storeGradient(ArrayRef<Value> gradient) {
  Type f32 = b.getF32Type();
  Value array = b.shared(f32, channels * rowPoints);
  for (int64_t number = 0; number < teams; ++number) {
    Value isTurn =
        teams > 1
            ? b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, team, word(number)).getResult()
            : Value();
    b.when(isTurn, [&] {
      for (int64_t columns = 0; columns < columnTiles; ++columns)
        for (int64_t channel = 0; channel < width; ++channel) {
          ArrayRef<Value> two =
              gradient.drop_front((columns * tiles + channel / 2) * 4 + channel % 2 * 2);
          Value sum = b.create<vector::InsertOp>(two[1], b.splat(two[0], 2), 1);
          Value offset = b.add(b.mul(b.add(firstChannel, channel), rowPoints),
                               b.add(column, columns * mmaColumns));
          Value at = b.element(array, f32, offset);
          constexpr int64_t alignment = 8;
          if (number)
            sum = b.create<arith::AddFOp>(b.load(at, f32, 2, alignment), sum);
          b.store(sum, at, f32, 2, alignment);
        }
    });
    b.barrier();
  }
  Value part = b.element(dw, f32, b.mul(index(b.block()), channels * points));
  b.loop(thread, word(channels * points), threads, [&](Value i) {
    Value from = b.add(b.mul(b.divide(i, points), rowPoints), b.remainder(i, points));
    b.store(b.load(b.element(array, f32, from), f32, 0), b.element(part, f32, i), f32, 0);
  });
}

//===- CudaPatches.cpp - the patches of a warp's positions in shared memory -----------------===//

#include "codegen/CudaPatches.h"
#include "codegen/CudaTensorCores.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::codegen;

static constexpr int64_t rowBytes = CudaPatches::points * 2, chunkBytes = CudaPatches::chunk * 2;

CudaPatches::CudaPatches(CudaBuilder &b, const hs_conv &conv, Type storage, Type indexType, Value x,
                         int64_t warps, Value warp, Value lane)
    : b(b), conv(conv), storage(storage), indexType(indexType),
      strides(conv.input_channels, conv.window.input, conv.channels_last), x(x), lane(lane),
      zero(b.create<arith::ConstantOp>(
          b.getZeroAttr(storage.isF16() ? storage : Type(b.getI16Type())))),
      rows(b.element(b.shared(b.getI8Type(), warps * positions * rowBytes), b.getI8Type(),
                     b.mul(warp, positions * rowBytes))) {}

Value CudaPatches::bits(Value x, int64_t shift, int64_t count) {
  Value high = b.create<arith::ShRUIOp>(x, word(shift));
  return b.create<arith::AndIOp>(high, word((1 << count) - 1));
}

Value CudaPatches::address(Value row, Value inRow) {
  Value permuted = b.create<arith::XOrIOp>(inRow, bits(row, 1, 2)); // two rows go over all banks
  Value offset = b.add(b.mul(row, rowBytes), b.mul(permuted, chunkBytes));
  return b.element(rows, b.getI8Type(), offset);
}

/// The numbers under the window, as they are in memory.
SmallVector<Value> CudaPatches::read(Value image, Value position, Value isThere) {
  const hs_window &window = conv.window;
  Position output = CudaWindow(b, window, indexType).split(position, window.output);
  // In each dimension, for each point of the window: where it reads, the start for padding; and
  // whether that is inside, null if it always is.
  SmallVector<std::pair<Value, Value>> reads[3];
  for (int d = 0; d < 3; ++d)
    for (int64_t k = 0; k < window.kernel[d]; ++k) {
      int64_t from = k * window.dilation[d] - window.pad[d];
      Value at = b.add(b.mul(output[d], window.stride[d]), from), isInside;
      int64_t last = (window.output[d] - 1) * window.stride[d] + from;
      if (from < 0 || last >= window.input[d]) {
        isInside = b.isBelow(at, window.input[d]);
        at = b.create<arith::SelectOp>(isInside, at, number(0));
      }
      reads[d].push_back({b.mul(at, strides.position[d]), isInside});
    }
  const int64_t places = volumeOf(window.kernel);
  SmallVector<Value> numbers(places * conv.input_channels);
  Value start = b.mul(image, strides.image);
  int64_t place = 0;
  for (auto [first, firstInside] : reads[0])
    for (auto [second, secondInside] : reads[1])
      for (auto [third, thirdInside] : reads[2]) {
        Value at = b.element(x, storage, b.add(b.add(b.add(start, first), second), third));
        Value isRead = b.both(b.both(isThere, firstInside), b.both(secondInside, thirdInside));
        for (int64_t channel = 0; channel < conv.input_channels; ++channel) {
          Value offset = number(channel * strides.channel);
          Value one = b.loadRaw(b.element(at, storage, offset), storage, 0);
          size_t i =
              conv.channels_last ? place * conv.input_channels + channel : channel * places + place;
          numbers[i] = b.create<arith::SelectOp>(isRead, one, zero);
        }
        ++place;
      }
  return numbers;
}

void CudaPatches::store(Value image, Value position, Value isThere) {
  SmallVector<Value> numbers = read(image, position, isThere);
  numbers.resize(llvm::alignTo(numbers.size(), depth), zero);
  b.create<NVVM::SyncWarpOp>(word(-1)); // the patches before these have been read
  for (int64_t i = 0; i < int64_t(numbers.size()); i += chunk) {
    Value all = b.splat(numbers[i], chunk);
    for (int64_t j = 1; j < chunk; ++j)
      all = b.create<vector::InsertOp>(numbers[i + j], all, j);
    b.create<LLVM::StoreOp>(all, address(lane, word(i / chunk)), chunkBytes);
  }
  b.create<NVVM::SyncWarpOp>(word(-1));
}

SmallVector<Value> CudaPatches::load(int64_t firstPosition, int64_t firstChunk,
                                     bool positionsAreDepth) {
  // Lane i gives row i % 8 of matrix i / 8; of the four matrices, depth goes first.
  Value low = bits(lane, 3, 1), high = bits(lane, 4, 1);
  Value row = b.add(b.mul(positionsAreDepth ? low : high, 8), bits(lane, 0, 3));
  Value inRow = b.add(positionsAreDepth ? high : low, firstChunk);
  return loadMatrices(b, address(b.add(row, firstPosition), inRow),
                      /*isTransposed=*/positionsAreDepth);
}

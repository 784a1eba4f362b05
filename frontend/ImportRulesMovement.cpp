//===- ImportRulesMovement.cpp - Reshape, transpose, expand and their kin -===//
//
// Shape, Size, Constant, ConstantOfShape and Range are always known when compiling: folding binds
// them before a rule is asked, so their rows only explain why that was not possible.
//
//===----------------------------------------------------------------------===//

#include "frontend/ImportRules.h"
#include "frontend/ShapeOperands.h"
#include "ir/TrainDialect.h"

using namespace mlir;

namespace halfstep {
namespace {

template <Sizes (*sizesOf)(OpBinder &)> LogicalResult reshaped(OpBinder &b) {
  Sizes sizes = sizesOf(b);
  return failed(sizes) ? failure() : b.bind(0, b.reshape(b.operand(0), *sizes));
}

LogicalResult expand(OpBinder &b) {
  Sizes sizes = expandedSizes(b);
  return failed(sizes) ? failure() : b.bind(0, b.broadcast(b.operand(0), *sizes));
}

LogicalResult transpose(OpBinder &b) {
  RankedTensorType type = b.type(0);
  if (!type)
    return failure();
  Sizes permutation = permutationOf(b, type.getRank());
  if (failed(permutation))
    return failure();
  if (llvm::is_sorted(*permutation)) // in place already
    return b.forward();
  auto attribute = b.scope.builder.getDenseI64ArrayAttr(*permutation);
  return b.bind(0, b.create<train::TransposeOp>(b.operand(0), b.named("permutation", attribute)));
}

/// x of [n...] as [1, n, ...], repeated to [r, n, ...], as [r n, ...].
LogicalResult tile(OpBinder &b) {
  Value x = b.operand(0);
  Sizes repeats = b.integers(1, "repeats");
  if (!x || failed(repeats))
    return failure();
  SmallVector<int64_t> apart, repeated, result;
  if (repeats->size() != sizesOf(x).size())
    return b.error() << "has " << repeats->size() << " repeats for " << x.getType();
  for (auto [size, repeat] : llvm::zip(sizesOf(x), *repeats)) {
    apart.append({1, size});
    repeated.append({repeat, size});
    if (repeat < 1 || llvm::MulOverflow(size, repeat, result.emplace_back()))
      return b.error() << "cannot repeat a dimension " << repeat << " times";
  }
  if (!elementCount(result))
    return b.error() << "asks for an impossible shape";
  return b.bind(0, b.reshape(b.broadcast(b.reshape(x, apart), repeated), result));
}

/// Blocks of size x size points to channels, or back: a reshape to six dimensions, a permutation of
/// them, and a reshape. The channels that a point becomes lie outside of the others (DCR) or
/// inside.
LogicalResult moveBlocks(OpBinder &b, bool toChannels) {
  Value x = b.operand(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> sizes = sizesOf(x);
  int64_t block = b.integer("blocksize", 0);
  bool fits = sizes.size() == 4 && block >= 1 && block < int64_t(1) << 31;
  if (fits)
    fits = toChannels ? sizes[2] % block == 0 && sizes[3] % block == 0
                      : sizes[1] % (block * block) == 0;
  if (!fits)
    return b.error() << "cannot move blocks of size " << block << " of " << x.getType();
  const onnx::AttributeProto *mode = b.attribute("mode");
  bool isInside = mode && mode->s() == "CRD";
  if (mode && !isInside && mode->s() != "DCR")
    return b.error() << "has a mode '" << mode->s() << "', which ONNX does not know";

  int64_t n = sizes[0], c = sizes[1], h = sizes[2], w = sizes[3];
  using Numbers = SmallVector<int64_t>;
  Numbers apart, permutation, result;
  if (toChannels) {
    apart = {n, c, h / block, block, w / block, block};
    permutation = isInside ? Numbers{0, 1, 3, 5, 2, 4} : Numbers{0, 3, 5, 1, 2, 4};
    result = {n, c * block * block, h / block, w / block};
  } else {
    c /= block * block;
    apart = isInside ? Numbers{n, c, block, block, h, w} : Numbers{n, block, block, c, h, w};
    permutation = isInside ? Numbers{0, 1, 4, 2, 5, 3} : Numbers{0, 3, 4, 1, 5, 2};
    result = {n, c, h * block, w * block};
  }
  auto attribute = b.scope.builder.getDenseI64ArrayAttr(permutation);
  Value moved =
      b.create<train::TransposeOp>(b.reshape(x, apart), b.named("permutation", attribute));
  return b.bind(0, b.reshape(moved, result));
}

template <bool toChannels> LogicalResult blocksMoved(OpBinder &b) {
  return moveBlocks(b, toChannels);
}

LogicalResult unknown(OpBinder &b) {
  return b.error() << "its operands must be known when compiling, and depend on data here";
}

constexpr RuleCategory Widest = RuleCategory::Widest, None = RuleCategory::None;

const ImportRule rules[] = {
    {"Constant", 1, unknown, None, false, 0, true},
    {"ConstantOfShape", 9, unknown, None, false, 0b1, true},
    {"DepthToSpace", 1, blocksMoved<false>, Widest},
    {"Expand", 8, expand, Widest, true, 0b10},
    {"Flatten", 1, reshaped<flattenedSizes>, Widest},
    {"Range", 11, unknown, None, false, 0b111, true},
    {"Reshape", 5, reshaped<reshapedSizes>, Widest, true, 0b10},
    {"Shape", 1, unknown, None, false, 0b1, true},
    {"Size", 1, unknown, None, false, 0b1, true},
    {"SpaceToDepth", 1, blocksMoved<true>, Widest},
    {"Squeeze", 1, reshaped<squeezedSizes>, Widest, true, 0b10},
    {"Tile", 6, tile, Widest, true, 0b10},
    {"Transpose", 1, transpose, Widest},
    {"Unsqueeze", 1, reshaped<unsqueezedSizes>, Widest, true, 0b10},
};

} // namespace

ArrayRef<ImportRule> movementRules() { return rules; }

} // namespace halfstep
